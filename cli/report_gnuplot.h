/* report_gnuplot.h - a report's figures drawn by gnuplot. */
#ifndef CLI_REPORT_GNUPLOT_H
#define CLI_REPORT_GNUPLOT_H

#include "vargate/workflow.h"

/* Draws every possible figure of a page as .svg, .pdf and .png into figures/ beside it, whose name goes to `folder`.
 * The library starts no other program, so gnuplot is started here. *drawn: files written; 0 with a note when there is
 * no gnuplot. Returns an exit code. */
int report_page_draw(const vg_page *page, char *folder, size_t room, size_t *drawn);

/* Removes figures that an earlier report left in the page's folder: they would belong to other data. */
void report_page_clear(const vg_page *page);

#endif
