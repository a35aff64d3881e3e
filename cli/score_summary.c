/* score_summary.c - statistics of every measure, the decision rule, diversity and the verdict on it. */
#include "cli.h"

static void put_stats(text_table *table, size_t row, size_t column, const vg_column_stats *stats) {
    table_figures(table, row, column, "555", (double[]){stats->mean, stats->median, stats->p95});
}

static void print_measures(const vg_score_result *r) {
    text_table table;
    if (r->measure_count == 0)
        return;
    table_begin(&table, r->multilabel ? "measure (mean of labels)|mean|median|95th pct|max: mean|median|95th pct"
                                      : "measure|mean|median|95th pct");
    for (size_t i = 0; i < r->measure_count; i++) {
        size_t row = table_row(&table, r->measures[i].name);
        put_stats(&table, row, 1, &r->measures[i].stats);
        if (r->multilabel)
            put_stats(&table, row, 4, &r->measures[i].max);
    }
    table_print(&table);
}

static void print_rule(const vg_score_result *r) {
    text_table table;
    table_begin(&table, r->labelled ? "decision rule|abstained|accuracy on the kept" : "decision rule|abstained");
    for (size_t i = 0; i < r->rule_count; i++) {
        char name[VG_NAME_SIZE], text[VG_NAME_SIZE + 8];
        vg_k_name(name, r->rule[i].k);
        snprintf(text, sizeof text, "k = %s", name);
        size_t row = table_row(&table, text);
        table_percent(&table, row, 1, 1 - r->rule[i].coverage);
        if (r->labelled)
            table_percent(&table, row, 2, r->rule[i].accuracy);
    }
    printf("\n");
    table_print(&table);
}

static void print_text(const vg_score_result *r) {
    heading_print(r->file, r->n, r->m, r->c, r->multilabel, r->logits ? " (logits)" : " (probabilities)");
    if (r->image_count)
        images_print_size(r->sites, r->ignored);
    print_measures(r);
    if (r->rule)
        print_rule(r);
    if (r->judged)
        printf("\nAccuracy       %.2f %% of %llu%s\n", 100 * r->accuracy, r->entries,
               r->multilabel ? " (sample, label) pairs" : "");
    printf("%sDiversity D    %.4g\n", r->labelled ? "" : "\n", table_value(r->summary->diversity));
    if (!isnan(r->summary->k_sensitivity))
        printf("k-sensitivity  %.4g\n", table_value(r->summary->k_sensitivity));
    if (r->verdict)
        verdict_print("Verdict        ", r->verdict);
    if (r->image_count && r->rule)
        images_print(r->images, r->image_order, r->image_count, 5, r->k[0], r->image_measure);
    if (r->gated_out)
        printf("Gated to nothing and left ungated at some k: %llu\n", r->gated_out);
}

int score_summary_print(const vg_score_result *result, bool json) {
    char *text = NULL;
    if (json)
        return json_print_result(vg_score_result_json(&text, result), &text);
    print_text(result);
    return CLI_OK;
}
