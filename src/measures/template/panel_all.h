/* panel_all.h - the whole of a panel, in float or in double. */
/* The order matters: later files use earlier ones. */
/* clang-format off */
#include "measures/template/panel_real.h"
#include "measures/template/panel.h"
#include "measures/template/panel_load.h"
#include "measures/template/panel_moments.h"
#include "measures/template/panel_integral.h"
#include "measures/template/panel_terms.h"
#include "measures/template/panel_finish.h"
#include "measures/template/panel_run.h"
/* clang-format on */
