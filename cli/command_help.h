/* command_help.h - prints a command's --help page from its option tables. */
#ifndef CLI_COMMAND_HELP_H
#define CLI_COMMAND_HELP_H

#include "command_options.h"

void command_help_print(const command *self, const option_group *groups, size_t group_count);

#endif
