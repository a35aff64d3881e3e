/* csv_columns.h - what each column of a table is: a class, the sample's id, the member, the label. Internal to
 * formats. */
#ifndef VG_CSV_COLUMNS_H
#define VG_CSV_COLUMNS_H

#include "formats/source.h"

typedef enum vg_role { VG_ROLE_IGNORED, VG_ROLE_VALUE, VG_ROLE_SAMPLE, VG_ROLE_MEMBER, VG_ROLE_LABEL } vg_role;

typedef struct vg_csv_columns {
    vg_strings names; /* of the header line; empty without one */
    size_t count;
    vg_role *roles;
    size_t *places; /* of a value column: its class; of a label column: its label */
    size_t values, labels, samples, members;
    bool logits; /* the names of the value columns are those of logits */
} vg_csv_columns;

/* Gives every column its role, by source->roles and by the names; names of classes go to source->classes. Fails,
 * naming the option that decides, where a role is not clear. `header` false: every column is a class. */
vg_status vg_csv__assign(vg_csv_columns *columns, vg_source *source, bool header);
void vg_csv__free(vg_csv_columns *columns);

#endif
