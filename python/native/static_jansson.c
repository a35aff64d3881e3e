/* static_jansson.c - lets a static jansson into the wheel's shared library. Debian's is compiled for programs, not for
 * shared libraries; all that stands in the way is its one reference to stdin, the name json_loadf gives that stream in
 * messages. The wheel is linked with --wrap=stdin, which resolves it here. Nothing in the library reads the C stream
 * stdin. */
#include <stdio.h>

extern FILE *__wrap_stdin;
__attribute__((visibility("hidden"))) FILE *__wrap_stdin;
