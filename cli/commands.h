/* commands.h - the subcommands, one cmd_*.c each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "command_options.h"

extern const command command_score;

#endif
