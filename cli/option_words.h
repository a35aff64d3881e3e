/* option_words.h - options that were given, written again as they could be typed. */
#ifndef CLI_OPTION_WORDS_H
#define CLI_OPTION_WORDS_H

#include "command_options.h"

/* Every option of the group whose value is not that of `defaults` (a struct of the same type), except those named in
 * `without` (ends with NULL), each as " --name value", quoted for a shell where that is needed. */
void option_words(char *out, size_t room, const option_group *group, const void *defaults, const char *const *without);

#endif
