/* report_columns.h - columns of the page: script elements that hold the base64 of a little-endian typed array.
 * Internal. */
#ifndef VG_REPORT_COLUMNS_H
#define VG_REPORT_COLUMNS_H

#include <stdint.h>

#include "report/report_emit.h"

/* Begins the element vg-NAME, to which values follow; ends it. */
void vg_report__column_begin(vg_base64 *b, vg_emit *e, const char *name);
void vg_report__column_end(vg_base64 *b);
void vg_report__put_u16(vg_base64 *b, uint32_t value);
void vg_report__put_u32(vg_base64 *b, uint32_t value);
void vg_report__put_f32(vg_base64 *b, double value);
void vg_report__put_f64(vg_base64 *b, double value);

#endif
