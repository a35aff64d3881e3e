/* test_choices.c - the file of chosen engines, shared by processes. It needs no GPU, so the source is compiled into the
 * test and runs where the CUDA backend is not built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <sys/wait.h>

#include "backend/cuda/cuda_choices.c"
#include "folder_util.h"

static int keep_choices(void **state) { return make_folder(state) || setenv("XDG_CACHE_HOME", folder, 1) != 0; }

static cuda_choices *open_choices(void) {
    cuda_choices *c;
    assert_int_equal(vg_cuda__choices_open(&c, 9, "Some GPU"), VG_OK);
    return c;
}

/* Two runs time the same convolution: both use what the first one stored, now and later. */
static void the_first_choice_holds(void **state) {
    (void)state;
    cuda_choices *one = open_choices(), *two = open_choices();
    float time = 0.5f;
    assert_int_equal(vg_cuda__choice(one, "forward", 8, &time), -1);
    assert_int_equal(vg_cuda__choose(one, "forward", 8, 3, &time), 3);
    time = 0.25f;
    assert_int_equal(vg_cuda__choose(two, "forward", 8, 5, &time), 3);
    assert_true(time == 0.5f);
    assert_int_equal(vg_cuda__choose(two, "data", 8, 6, &time), 6);
    assert_int_equal(vg_cuda__choose(one, "weights", 8, 7, &time), 7);
    assert_int_equal(vg_cuda__choose(one, "forward", 4, 1, &time), 1); /* other candidates, another choice */
    vg_cuda__choices_close(one);
    vg_cuda__choices_close(two);
    cuda_choices *later = open_choices();
    assert_int_equal(vg_cuda__choice(later, "forward", 8, &time), 3);
    assert_int_equal(vg_cuda__choice(later, "forward", 4, &time), 1);
    assert_int_equal(vg_cuda__choice(later, "data", 8, &time), 6);
    assert_int_equal(vg_cuda__choice(later, "weights", 8, &time), 7);
    vg_cuda__choices_close(later);
}

/* Processes that choose the same forty names at the same time agree on every one. */
static void processes_agree(void **state) {
    (void)state;
    enum { PROCESSES = 6, NAMES = 40 };
    int places[2];
    assert_int_equal(pipe(places), 0);
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            unsigned char chosen[NAMES];
            cuda_choices *c;
            if (vg_cuda__choices_open(&c, 10, "Some GPU") != VG_OK)
                _exit(1);
            for (int i = 0; i < NAMES; i++) {
                char name[24];
                float time = 1;
                snprintf(name, sizeof name, "conv-%d", i);
                chosen[i] = (unsigned char)vg_cuda__choose(c, name, 64, (7 * p + i) % 64, &time);
            }
            _exit(write(places[1], chosen, NAMES) == NAMES ? 0 : 1);
        }
    unsigned char chosen[PROCESSES][NAMES];
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
        assert_int_equal(read(places[0], chosen[p], NAMES), NAMES);
        assert_memory_equal(chosen[p], chosen[0], NAMES);
    }
}

/* Without a folder for the file the choices last as long as the process. */
static void without_a_file(void **state) {
    (void)state;
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    cuda_choices *c = open_choices();
    float time = 1;
    assert_int_equal(vg_cuda__choose(c, "forward", 8, 2, &time), 2);
    assert_int_equal(vg_cuda__choose(c, "forward", 8, 4, &time), 2);
    vg_cuda__choices_close(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_choice_holds), cmocka_unit_test(processes_agree),
                                       cmocka_unit_test(without_a_file)};
    return cmocka_run_group_tests(tests, keep_choices, remove_folder);
}
