/* report_columns.c - typed arrays as elements of the page. See report_columns.h. */
#include "report/report_columns.h"

#include <string.h>

void vg_report__column_begin(vg_base64 *b, vg_emit *e, const char *name) {
    *b = (vg_base64){.out = e};
    vg_report__format(e, "<script type=\"text/plain\" id=\"vg-%s\">", name);
}

void vg_report__column_end(vg_base64 *b) {
    vg_report__base64_finish(b);
    vg_report__raw(b->out, "</script>\n");
}

void vg_report__put_u16(vg_base64 *b, uint32_t value) {
    uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    vg_report__base64(b, bytes, 2);
}

void vg_report__put_u32(vg_base64 *b, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    vg_report__base64(b, bytes, 4);
}

void vg_report__put_f32(vg_base64 *b, double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    vg_report__put_u32(b, bits);
}

void vg_report__put_f64(vg_base64 *b, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    vg_report__put_u32(b, (uint32_t)bits);
    vg_report__put_u32(b, (uint32_t)(bits >> 32));
}
