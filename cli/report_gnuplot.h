/* report_gnuplot.h - a report's figures drawn by gnuplot. */
#ifndef CLI_REPORT_GNUPLOT_H
#define CLI_REPORT_GNUPLOT_H

#include "vargate/report.h"

/* Draws every possible figure as .svg, .pdf and .png into `folder`. *drawn: files written; 0 with a note when there is
 * no gnuplot. Returns an exit code. */
int report_figures_draw(const vg_report *report, const char *folder, size_t *drawn);

#endif
