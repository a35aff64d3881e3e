/* all.h - the whole kernel, once a tier. The including file sets VG_LANES and the target. */
#include "measures/template/simd.h"
/* in this order */
#include "measures/template/vmath.h"
#include "measures/template/workspace.h"
#include "measures/template/fill.h"
#include "measures/template/entropy.h"
#include "measures/template/js_weights.h"
#include "measures/template/js.h"
#include "measures/template/js32.h"
#include "measures/template/js64.h"
#include "measures/template/margin.h"
#include "measures/template/tile.h"
