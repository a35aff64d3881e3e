/* commands.h - the subcommands, one cmd_*.c each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "command_options.h"

extern const command command_score;
extern const command command_calibrate;
extern const command command_evaluate;
extern const command command_decide;
extern const command command_ood;
extern const command command_data;
extern const command command_train;
extern const command command_predict;
extern const command command_run;
extern const command command_report;
extern const command command_compare;
extern const command command_sweep;
extern const command command_reproduce;

#endif
