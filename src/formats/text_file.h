/* text_file.h - a plain text file written in pieces, beside its final place, and renamed into place; "-" is standard
 * output, written at once. One caller at a time. Internal. */
#ifndef VG_TEXT_FILE_H
#define VG_TEXT_FILE_H

#include "vargate/formats.h"

typedef struct vg_text vg_text;
/* *out belongs to the caller until vg_text__close or vg_text__abandon. */
vg_status vg_text__open(vg_text **out, const char *path);
/* Appends bytes; buffered. VG_ERR_IO when they cannot be written, as on a full disk. */
vg_status vg_text__write(vg_text *text, const void *bytes, size_t size);
/* Flushes to disk and renames into place. Frees the text in any case. */
vg_status vg_text__close(vg_text *text);
/* Removes what was written and frees the text. NULL is accepted. */
void vg_text__abandon(vg_text *text);

#endif
