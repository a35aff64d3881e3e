/* vargate.h - the whole public interface.
 *
 * Rules that hold for every function unless its own comment says otherwise:
 *
 *     errors     A function that can fail returns vg_status; vg_error_message() explains the last failure of the
 *                calling thread. Results are complete only where the status is VG_OK. NULL for an argument that
 *                is needed is VG_ERR_ARGUMENT; functions without a status then do nothing, and return NULL, 0 or "".
 *     ownership  What a function hands out through T **out belongs to the caller, who frees it with the function
 *                named _free or _close beside the type (NULL is accepted). A returned const pointer is borrowed: it
 *                lives as long as the object it came from. Arguments are borrowed for the call alone.
 *     threads    Functions without an object may be called from any thread at any time. An object serves one caller
 *                at a time, and a second one gets VG_ERR_ARGUMENT; different objects may be used by different threads
 *                at once.
 *     options    Structs of options begin with struct_size and have an _INIT macro. A smaller struct of a program
 *                compiled against an older header is accepted: the fields that it lacks take their defaults. NULL
 *                stands for the defaults where a comment says so.
 *     growth     Results that may grow begin with struct_size too, or are made by the library. Rows of arrays, and
 *                structs without struct_size that a caller holds, keep their size within a major version; where more
 *                is expected in them they have room, named `reserved`. */
#ifndef VARGATE_VARGATE_H
#define VARGATE_VARGATE_H

#include "vargate/calibrate.h"
#include "vargate/compare.h"
#include "vargate/data.h"
#include "vargate/doctor.h"
#include "vargate/evaluate.h"
#include "vargate/fields.h"
#include "vargate/fit_k.h"
#include "vargate/formats.h"
#include "vargate/listener.h"
#include "vargate/measures.h"
#include "vargate/nn.h"
#include "vargate/page.h"
#include "vargate/policy.h"
#include "vargate/sets.h"
#include "vargate/sets_file.h"
#include "vargate/status.h"
#include "vargate/temperatures.h"
#include "vargate/types.h"
#include "vargate/version.h"
#include "vargate/workflow.h"

#endif
