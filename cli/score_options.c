/* score_options.c - the scoring options shared by commands: their table, and how they become library options. */
#include "cli.h"

#define PLACE(member) offsetof(score_options, member)
const option_entry score_option_entries[] = {
    {"labels", 0, OPTION_TEXT, PLACE(input.labels), "FILE", NULL,
     "true classes (N) or 0/1 labels (N, C); without it those stored beside the predictions as L, labels or y", 0, 0},
    {"labels-key", 0, OPTION_TEXT, PLACE(input.labels_key), "NAME", NULL,
     "array, column or field that holds the labels (default: L, labels, label, y, y_true, target)", 0, 0},
    {"label", 0, OPTION_TEXT, PLACE(input.labels_key), "NAME", NULL, "the same, for a column of a table", 0, 0},
    {"labels-from", 0, OPTION_UNSIGNED, PLACE(input.labels_from), "0|1", "0",
     "the number that labels have for the first class", 0, 1},
    {"classes", 0, OPTION_TEXT, PLACE(input.classes), "A,B,...|REGEX", NULL,
     "columns of a table that are classes; for arrays the names of the classes", 0, 0},
    {"id", 0, OPTION_TEXT, PLACE(input.id), "NAME", NULL,
     "column, array or field of the samples' ids (default: id, sample, index)", 0, 0},
    {"member", 0, OPTION_TEXT, PLACE(input.member), "NAME", NULL,
     "column of the members in a table (default: member, head)", 0, 0},
    {"separator", 0, OPTION_TEXT, PLACE(input.separator), "CHAR", NULL,
     "between the fields of a table: comma, semicolon, tab or space (default: recognised)", 0, 0},
    {"decimal", 0, OPTION_TEXT, PLACE(input.decimal), "point|comma", NULL,
     "decimal mark of the numbers in a table (default: recognised)", 0, 0},
    {"logits", 0, OPTION_FLAG, PLACE(logits), NULL, NULL,
     "the file holds logits (known by itself for arrays named Z or logits)", 0, 0},
    {"calibration-map", 0, OPTION_TEXT, PLACE(input.temperature), "T|FILE", NULL,
     "a file from 'vargate calibrate', or T that logits are divided by: a number, a comma list with one per member", 0,
     0},
    {"temperature", 0, OPTION_TEXT, PLACE(input.temperature), "T|FILE", NULL, "the same, under its older name", 0, 0},
    {"multilabel", 0, OPTION_FLAG, PLACE(multilabel), NULL, NULL, "every class is a yes/no label of its own", 0, 0},
    {"multilabel-form", 0, OPTION_CHOICE, PLACE(multilabel_form), "continuous|literal", "continuous",
     "the multilabel GMU: continuous, or the paper's printed cases, which call a surely absent label maximally "
     "uncertain",
     0, 0},
    {"k", 'k', OPTION_GATES, PLACE(k), "K,...|FILE", "1,2,3",
     "gate settings, each > 0; a larger k abstains more, but gated measures need not fall with it; a file of 'vargate "
     "fit-k': --class-k FILE -k 1",
     0, 0},
    {"class-k", 0, OPTION_TEXT, PLACE(input.class_k), "FILE|K,...", NULL,
     "a k for every class or label: numbers, or a file of 'vargate fit-k'; the gate settings are multiples of it", 0,
     0},
    {"preset", 0, OPTION_CHOICE, PLACE(preset), "paper|vge|mljku", "paper",
     "conventions of the paper or of published code", 0, 0},
    {"pairs", 0, OPTION_CHOICE, PLACE(pairs), "all|distinct", NULL,
     "member pairs in EPCE, EPKL, EPJS (default: the preset's)", 0, 0},
    {"sigma", 0, OPTION_CHOICE, PLACE(sigma), "population|sample", NULL,
     "spread over members, divided by M or M - 1 (default: the preset's)", 0, 0},
    {"log-base", 0, OPTION_CHOICE, PLACE(log_base), "e|2", NULL,
     "unit of entropies: nats or bits (default: the preset's)", 0, 0},
    {"normalise", 0, OPTION_FLAG, PLACE(normalise), NULL, NULL, "divide TU, AU, EU and their gated forms by log C", 0,
     0},
    {"renormalise", 0, OPTION_FLAG, PLACE(renormalise), NULL, NULL, "divide rows by their sum instead of refusing them",
     0, 0},
    {"measures", 0, OPTION_TEXT, PLACE(measures), "LIST", "all",
     "what to compute: tu au eu epce epkl epjs gmu snr maxprob gap topstd votes maxlogit energy gtu gau geu gepce "
     "gepkl gepjs pred second decision mean std flags, or the groups all (without maxprob to energy), entropies, "
     "pairwise, "
     "baselines (maxprob gap topstd votes), ungated, gated, margin",
     0, 0},
    {"axes", 0, OPTION_TEXT, PLACE(input.axes), "LETTERS", NULL,
     "what the axes of the file are, a letter each in their order: N samples, M members, C classes, and H W D of "
     "images and volumes, whose sites are then samples: MNC, NMCHW, ... (default: NMC)",
     0, 0},
    {"ignore", 0, OPTION_TEXT, PLACE(ignore), "LABEL", NULL,
     "of images: the label of the sites that are left out of every figure, often 255", 0, 0},
    {"format", 0, OPTION_CHOICE, PLACE(format), SCORE_FORMAT_WORDS, NULL,
     "of predictions on standard input, PRED = - (default: a binary one, known by its content)", 0, 0},
    {"key", 0, OPTION_TEXT, PLACE(input.key), "NAME", NULL,
     "array to take from the file (default: P, Q or Z, or the only one that fits); A,B,... or PREFIX*: one per member",
     0, 0},
    {"threads", 't', OPTION_UNSIGNED, PLACE(threads), "T", "0", "threads; 0: one per core; results do not depend on it",
     0, 1024},
};
const size_t score_option_count = sizeof score_option_entries / sizeof *score_option_entries;

/* --- as options of the library -------------------------------------------------------------------------------------*/
static int scoring_options(vg_score_options *out, const score_options *options) {
    *out = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    if (vg_score_options_preset(out, (vg_preset)options->preset) != VG_OK)
        return console_fail_library();
    if (options->pairs >= 0)
        out->pairs = (vg_pairs)options->pairs;
    if (options->sigma >= 0)
        out->sigma_gate = out->sigma_margin = (vg_sigma)options->sigma;
    if (options->log_base >= 0)
        out->log_base = (vg_log_base)options->log_base;
    if (options->normalise)
        out->normalise = 1;
    if (options->multilabel)
        out->task = options->multilabel_form == 0 ? VG_TASK_MULTILABEL : VG_TASK_MULTILABEL_LITERAL;
    out->renormalise = options->renormalise;
    out->k = options->k.values;
    out->k_count = options->k.count;
    out->threads = options->threads;
    return CLI_OK;
}

const char *score_format_word(int index) {
    static const char *const words[] = {"npy", "npz", "safetensors", "csv", "tsv", "jsonl", "json"};
    return index < 0 ? NULL : words[index];
}

/* --ignore: a whole number. */
static int parse_ignore(score_request *out, const score_options *options) {
    char *end;
    if (!options->ignore)
        return CLI_OK;
    out->ignore = strtoll(options->ignore, &end, 10);
    return *options->ignore && !*end ? CLI_OK : console_usage("--ignore: '%s' is not a whole number", options->ignore);
}

int score_options_check(const void *options, const option_files *files) {
    const char *format = score_format_word(((const score_options *)options)->format);
    if (!format || files->standard || files->count == 0)
        return CLI_OK;
    return console_usage("--format %s is the kind of standard input (-); that of %s is known by its ending", format,
                         files->items[0]);
}

int score_options_request(score_request *out, const score_options *options) {
    vg_input_options input = options->input;
    input.struct_size = sizeof input;
    if (options->measures && vg_fields_parse(&input.fields, options->measures) != VG_OK)
        return console_usage("--measures: %s", vg_error_message());
    int code = scoring_options(&out->scoring, options);
    if (code == CLI_OK)
        code = parse_ignore(out, options);
    if (code != CLI_OK)
        return code;
    input.ignore = options->ignore ? &out->ignore : NULL;
    input.logits = options->logits ? 1 : -1;
    if (input.class_k && options->k.file)
        return console_usage("-k %s and --class-k both name a file with a k for every class", options->k.file);
    if (options->k.file)
        input.class_k = options->k.file;
    input.scoring = &out->scoring;
    input.format = score_format_word(options->format);
    out->input = input;
    return CLI_OK;
}
