/* all.h - the whole kernel, compiled once for each tier. The including file sets VG_LANES and the target. */
#include "measures/integral_series.h"
#include "measures/template/simd.h"
/* The order matters: later files use earlier ones. */
/* clang-format off */
#include "measures/template/vmath.h"
#include "measures/template/top.h"
#include "measures/template/workspace.h"
#include "measures/template/fill.h"
#include "measures/template/moments.h"
#include "measures/template/entropy.h"
#include "measures/template/gates32.h"
#include "measures/template/js_weights.h"
#include "measures/template/js.h"
#include "measures/template/js_powers.h"
#include "measures/template/js32_wide.h"
#include "measures/template/js32.h"
#include "measures/template/js32_small.h"
#include "measures/template/js32_many.h"
#include "measures/template/js64.h"
#include "measures/template/margin.h"
#include "measures/template/results.h"
#include "measures/template/js_class.h"
#include "measures/template/class32.h"
#include "measures/template/tile.h"
#define VG_PANEL_DOUBLE 0
#include "measures/template/panel_all.h"
#undef VG_PANEL_DOUBLE
#define VG_PANEL_DOUBLE 1
#include "measures/template/panel_all.h"
#undef VG_PANEL_DOUBLE
#include "measures/template/panel_refine.h"
#include "measures/template/panel_score.h"
/* clang-format on */
