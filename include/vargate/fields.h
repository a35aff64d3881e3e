/* fields.h - what can be computed of a sample, as numbers, sets and names. Any thread may call these functions. */
#ifndef VARGATE_FIELDS_H
#define VARGATE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is computed of a sample. Those before VG_FIELD_PRED are measures of uncertainty. */
typedef enum vg_field {
    VG_FIELD_TU = 0,
    VG_FIELD_AU,
    VG_FIELD_EU,
    VG_FIELD_EPCE,
    VG_FIELD_EPKL,
    VG_FIELD_EPJS,
    VG_FIELD_GMU,
    VG_FIELD_SNR,
    VG_FIELD_MAXPROB,
    VG_FIELD_GAP,
    VG_FIELD_TOPSTD,
    VG_FIELD_VOTES,
    VG_FIELD_MAXLOGIT, /* this and the next: logits only */
    VG_FIELD_ENERGY,
    VG_FIELD_GTU,
    VG_FIELD_GAU,
    VG_FIELD_GEU,
    VG_FIELD_GEPCE,
    VG_FIELD_GEPKL,
    VG_FIELD_GEPJS,
    VG_FIELD_PRED,
    VG_FIELD_SECOND,
    VG_FIELD_DECISION,
    VG_FIELD_MEAN,
    VG_FIELD_STD,
    VG_FIELD_FLAGS,
    VG_FIELD_COUNT,
    VG_FIELD_MEASURES = VG_FIELD_PRED
} vg_field;

/* A set of fields, bit f for field f. */
typedef uint32_t vg_field_set;
#define VG_FIELD_BIT(field) ((vg_field_set)1 << (field))
/* What is there to compare with: maxprob gap topstd votes maxlogit energy. */
#define VG_FIELDS_BASELINES (VG_FIELD_BIT(VG_FIELD_GTU) - VG_FIELD_BIT(VG_FIELD_MAXPROB))
#define VG_FIELDS_OF_LOGITS (VG_FIELD_BIT(VG_FIELD_MAXLOGIT) | VG_FIELD_BIT(VG_FIELD_ENERGY))
#define VG_FIELDS_ALL ((VG_FIELD_BIT(VG_FIELD_COUNT) - 1) & ~VG_FIELDS_BASELINES)
#define VG_FIELDS_MEASURES (VG_FIELD_BIT(VG_FIELD_MEASURES) - 1)

/* A set from names (tu, au, ..., flags) and groups (all, entropies, pairwise, baselines, ungated, gated,
 * margin) separated by commas. VG_ERR_ARGUMENT, naming the word, where one is unknown. */
VG_API vg_status vg_fields_parse(vg_field_set *out, const char *text);
/* Word i of those that vg_fields_parse knows: fields in the order of vg_field, then groups. NULL past the last. */
VG_API const char *vg_fields_word(size_t i);

#ifdef __cplusplus
}
#endif
#endif
