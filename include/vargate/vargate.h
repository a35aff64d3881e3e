/* vargate.h - the whole public interface. */
#ifndef VARGATE_VARGATE_H
#define VARGATE_VARGATE_H

#include "vargate/calibrate.h"
#include "vargate/data.h"
#include "vargate/device.h"
#include "vargate/evaluate.h"
#include "vargate/formats.h"
#include "vargate/measures.h"
#include "vargate/nn.h"
#include "vargate/report.h"
#include "vargate/status.h"
#include "vargate/temperatures.h"
#include "vargate/types.h"
#include "vargate/workflow.h"

#endif
