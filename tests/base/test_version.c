/* test_version.c - the macros of version.h, the library and the whole public interface in one program agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "vargate/vargate.h"

static void headers_and_library_agree(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", VARGATE_VERSION_MAJOR, VARGATE_VERSION_MINOR, VARGATE_VERSION_PATCH);
    assert_string_equal(text, vg_version()); /* which comes from project(VERSION) in CMakeLists.txt */
    assert_string_equal(text, VARGATE_VERSION_STRING);
    assert_int_equal(VARGATE_VERSION_NUMBER,
                     VARGATE_VERSION_MAJOR * 10000 + VARGATE_VERSION_MINOR * 100 + VARGATE_VERSION_PATCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers_and_library_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
