/* cli.h - what every file of the command line includes. */
#ifndef CLI_H
#define CLI_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_options.h"
#include "console.h"
#include "results_print.h"
#include "score_options.h"

#endif
