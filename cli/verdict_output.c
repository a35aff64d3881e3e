/* verdict_output.c - the verdict's lines and keys. */
#include "verdict_output.h"

#include <stdio.h>
#include <string.h>

#include "json_output.h"

void verdict_json(json_t *object, const vg_verdict *verdict) {
    json_t *figures = json_object();
    json_put_text(object, "verdict", verdict->name);
    json_put_text(object, "verdict_text", verdict->text);
    json_put_number(figures, "share", verdict->share);
    json_put_number(figures, "disagreement", verdict->disagreement);
    json_put_number(figures, "abstained", verdict->abstained);
    json_put_number(figures, "diversity", verdict->diversity);
    json_put_number(figures, "class_variance", verdict->class_variance);
    json_put_number(figures, "accuracy", verdict->accuracy);
    json_put_number(figures, "chance", verdict->chance);
    json_put(object, "verdict_figures", figures);
}

void verdict_print(const char *head, const vg_verdict *verdict) {
    enum { COLUMNS = 100 };
    size_t indent = strlen(head), used = indent;
    printf("%s", head);
    for (const char *word = verdict->text; *word;) {
        size_t length = strcspn(word, " ");
        if (used > indent && used + 1 + length > COLUMNS) {
            printf("\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            putchar(' ');
            used++;
        }
        printf("%.*s", (int)length, word);
        used += length;
        word += length + (word[length] == ' ');
    }
    putchar('\n');
}
