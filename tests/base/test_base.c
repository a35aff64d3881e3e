/* test_base.c - errors, checked memory, the thread pool, random numbers and the choice of vector tier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/cpu.h"
#include "base/names.h"
#include "base/random.h"

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void message_is_one_line(void **state) {
    (void)state;
    assert_int_equal(vg_base__fail(VG_ERR_DATA, "row %d of\n\"%s\"", 3, "a\tb\x7f"), VG_ERR_DATA);
    assert_string_equal(vg_error_message(), "row 3 of\\x0a\"a\\x09b\\x7f\"");
    vg_base__fail(VG_ERR_IO, "again: %s", vg_error_message());
    assert_string_equal(vg_error_message(), "again: row 3 of\\x0a\"a\\x09b\\x7f\"");
}

static void printable_is_valid_utf8(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 C:\\x", "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 C:\\x"},
        {"\x1b[31m", "\\x1b[31m"}, /* an escape sequence */
        {"sh\xd8pe", "sh\\xd8pe"}, /* half of a sequence */
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"}, /* the same sequence by a C1 control */
        {"a\xe2\x80\xae"
         "b",
         "a\\xe2\\x80\\xaeb"},                                              /* right-to-left override */
        {"\xe2\x81\xa6x", "\\xe2\\x81\\xa6x"},                              /* isolate */
        {"\xc0\xaf \xed\xa0\x80 \xf5", "\\xc0\\xaf \\xed\\xa0\\x80 \\xf5"}, /* overlong, surrogate, no UTF-8 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[128];
        assert_string_equal(vg_printable(out, sizeof out, cases[i][0]), cases[i][1]);
    }
    char small[6];
    assert_string_equal(vg_printable(small, sizeof small, "abc\xe2\x82\xac"), "abc"); /* cut between characters */
    assert_string_equal(vg_printable(small, sizeof small, "ab\x01"), "ab");
    assert_string_equal(vg_printable(small, 1, "ab"), "");
}

static void message_is_cut_not_overrun(void **state) {
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    vg_base__fail(VG_ERR_IO, "%s", text);
    size_t length = strlen(vg_error_message());
    assert_in_range(length, 500, sizeof text - 2);
}

static void *fail_elsewhere(void *unused) {
    (void)unused;
    vg_base__fail(VG_ERR_IO, "the other thread's");
    return NULL;
}

static void message_belongs_to_its_thread(void **state) {
    (void)state;
    pthread_t thread;
    vg_base__fail(VG_ERR_IO, "this thread's");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(vg_error_message(), "this thread's");
}

/* --- options structs ---------------------------------------------------------------------------------------------- */

/* The struct of an older release, and the current one. */
typedef struct old_options {
    size_t struct_size;
    double level;
} old_options;
typedef struct new_options {
    size_t struct_size;
    double level;
    size_t rows;
    const char *name;
} new_options;

static const new_options new_defaults = {sizeof(new_options), 0.5, 7, "default"};

static vg_status take(new_options *out, const void *given) {
    return vg_base__take_options(out, given, &new_defaults, sizeof *out, "vg_new_options");
}

static void smaller_options_take_defaults(void **state) {
    (void)state;
    struct {
        old_options given;
        unsigned char beyond[64]; /* must not be read */
    } caller = {{sizeof(old_options), 0.9}, {0}};
    memset(caller.beyond, 0xee, sizeof caller.beyond);
    new_options out;
    assert_int_equal(take(&out, &caller.given), VG_OK);
    assert_true(out.struct_size == sizeof out && out.level == 0.9 && out.rows == 7);
    assert_string_equal(out.name, "default");
    new_options whole = {sizeof whole, 0.1, 3, "given"};
    assert_int_equal(take(&out, &whole), VG_OK);
    assert_memory_equal(&out, &whole, sizeof out);
    assert_int_equal(take(&out, NULL), VG_OK);
    assert_memory_equal(&out, &new_defaults, sizeof out);
}

static void impossible_option_sizes_are_refused(void **state) {
    (void)state;
    static const size_t sizes[] = {0,       1, sizeof(size_t) - 1, sizeof(old_options) + 4, sizeof(new_options) + 8,
                                   SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        new_options out, given = {sizes[i], 0.1, 3, "given"};
        assert_int_equal(take(&out, &given), VG_ERR_ARGUMENT);
        assert_non_null(strstr(vg_error_message(), "vg_new_options.struct_size"));
    }
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void distances_between_words(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        size_t edits;
    } known[] = {{"", "", 0},           {"", "abc", 3},       {"abc", "", 3},   {"kitten", "sitting", 3},
                 {"mnist", "mnsit", 1}, {"rate", "rates", 1}, {"ca", "abc", 3}, {"flaw", "lawn", 2},
                 {"epoch", "epochs", 1}};
    char longest[VG_NAMES_LONGEST + 2];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(vg_names__distance(known[i].a, known[i].b), known[i].edits);
        assert_int_equal(vg_names__distance(known[i].b, known[i].a), known[i].edits);
    }
    memset(longest, 'x', sizeof longest);
    longest[VG_NAMES_LONGEST + 1] = '\0';
    assert_true(vg_names__distance(longest, "x") == SIZE_MAX);
    assert_int_equal(vg_names__distance(longest + 1, "x"), VG_NAMES_LONGEST - 1);
}

static void nearest_name(void **state) {
    (void)state;
    static const char *const names[] = {"mnist", "fashion-mnist", "kmnist", "svhn"};
    assert_string_equal(vg_names__nearest("mnits", names, 4, 4), "mnist");
    assert_string_equal(vg_names__nearest("xmnist", names, 4, 4), "mnist"); /* the first of two at one edit */
    assert_string_equal(vg_names__nearest("svnh", names, 4, 4), "svhn");
    assert_null(vg_names__nearest("imagenet", names, 4, 4));
    assert_null(vg_names__nearest("a", names, 0, SIZE_MAX));
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void sizes_are_checked(void **state) {
    (void)state;
    size_t product;
    assert_true(vg_base__mul(&product, SIZE_MAX / 2, 2));
    assert_false(vg_base__mul(&product, SIZE_MAX / 2 + 1, 2));
    assert_true(vg_base__add(&product, SIZE_MAX - 1, 1));
    assert_false(vg_base__add(&product, SIZE_MAX, 1));
    double *memory = (double *)&product;
    assert_int_equal(vg_base__alloc(&memory, SIZE_MAX / 4, 8, "the table"), VG_ERR_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(vg_error_message(), "the table"));
    assert_int_equal(vg_base__alloc(&memory, SIZE_MAX, 1, "the table"), VG_ERR_MEMORY);
}

static void memory_is_aligned_and_zeroed(void **state) {
    (void)state;
    for (size_t count = 0; count < 200; count++) {
        unsigned char *memory;
        assert_int_equal(vg_base__zalloc(&memory, count, 1, "bytes"), VG_OK);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(memory[i], 0);
        vg_base__release(memory);
    }
    vg_base__release(NULL);
    char *copy;
    assert_int_equal(vg_base__strdup(&copy, "gate"), VG_OK);
    assert_string_equal(copy, "gate");
    vg_base__release(copy);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum { ITEMS = 1000 };
typedef struct loop {
    unsigned visits[ITEMS];
    unsigned workers;
    size_t fail_from; /* indices at and after this one fail */
} loop;

static vg_status visit(void *context, size_t index, unsigned worker) {
    loop *items = context;
    if (worker >= items->workers)
        return vg_base__fail(VG_ERR_ARGUMENT, "worker %u of %u", worker, items->workers);
    items->visits[index]++;
    if (index >= items->fail_from)
        return vg_base__fail(VG_ERR_DATA, "item %zu", index);
    return VG_OK;
}

static void pool_visits_each_index_once(void **state) {
    (void)state;
    for (unsigned threads = 0; threads <= 5; threads++) {
        vg_pool *pool;
        assert_int_equal(vg_pool__new(&pool, threads), VG_OK);
        assert_int_equal(vg_pool__threads(pool), threads ? threads : vg_base__cores());
        loop items = {.workers = vg_pool__threads(pool), .fail_from = SIZE_MAX};
        for (unsigned round = 1; round <= 20; round++) {
            assert_int_equal(vg_pool__run(pool, ITEMS, visit, &items), VG_OK);
            for (size_t i = 0; i < ITEMS; i++)
                assert_int_equal(items.visits[i], round);
        }
        assert_int_equal(vg_pool__run(pool, 0, visit, &items), VG_OK);
        vg_pool__free(pool);
    }
    vg_pool__free(NULL);
}

static void pool_reports_the_first_failure(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        vg_pool *pool;
        assert_int_equal(vg_pool__new(&pool, threads), VG_OK);
        for (size_t from = 0; from < ITEMS; from += 110) {
            loop items = {.workers = threads, .fail_from = from};
            char expected[32];
            snprintf(expected, sizeof expected, "item %zu", from);
            assert_int_equal(vg_pool__run(pool, ITEMS, visit, &items), VG_ERR_DATA);
            assert_string_equal(vg_error_message(), expected);
            assert_int_equal(items.visits[ITEMS - 1], 0); /* the hand-out stopped */
            items.fail_from = SIZE_MAX;
            assert_int_equal(vg_pool__run(pool, ITEMS, visit, &items), VG_OK); /* and the pool works on */
        }
        vg_pool__free(pool);
    }
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

/* The known answers that the authors publish with Random123 (kat_vectors, philox4x32 10). */
static void philox_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        vg_random__philox(out, known[i].counter, known[i].key);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
    /* The generator reads the same words: seed is the key, {block, stream} the counter. */
    vg_random random = vg_random__at(0x299f31d0a4093822, 0x0370734413198a2e, 400);
    (void)vg_random__u32(&random);
    vg_random__jump(&random, 1); /* back, to a block that is not cached */
    uint32_t expected[4];
    vg_random__philox(expected, (uint32_t[4]){0, 0, 0x13198a2e, 0x03707344}, (uint32_t[2]){0xa4093822, 0x299f31d0});
    for (int i = 1; i < 4; i++)
        assert_int_equal(vg_random__u32(&random), expected[i]);
    random = vg_random__start(0, 0);
    assert_true(vg_random__u64(&random) == 0xe169c58d6627e8d5);
}

static void position_is_the_whole_state(void **state) {
    (void)state;
    vg_random a = vg_random__start(7, 3);
    size_t order[50];
    for (int step = 0; step < 300; step++) {
        vg_random b = vg_random__at(7, 3, a.position); /* resumed from three integers */
        for (size_t i = 0; i < 50; i++)
            order[i] = i;
        switch (step % 5) {
        case 0: assert_int_equal(vg_random__u32(&a), vg_random__u32(&b)); break;
        case 1: assert_true(vg_random__unit(&a) == vg_random__unit(&b)); break;
        case 2: assert_true(vg_random__normal(&a) == vg_random__normal(&b)); break;
        case 3: assert_true(vg_random__below(&a, 1000003) == vg_random__below(&b, 1000003)); break;
        default: vg_random__shuffle(&a, order, 50); vg_random__shuffle(&b, order, 50);
        }
        assert_true(a.position == b.position);
    }
    uint64_t far = UINT64_C(1) << 40;
    vg_random__jump(&a, far);
    vg_random b = vg_random__at(7, 3, far);
    assert_true(vg_random__u64(&a) == vg_random__u64(&b));
}

static void streams_and_seeds_differ(void **state) {
    (void)state;
    uint64_t seen[64];
    size_t count = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        for (uint64_t stream = 0; stream < 8; stream++) {
            vg_random random = vg_random__start(seed << (seed * 8), stream << (stream * 8));
            uint64_t value = vg_random__u64(&random);
            for (size_t i = 0; i < count; i++)
                assert_true(seen[i] != value);
            seen[count++] = value;
        }
    }
}

/* Chi-square of 7 cells, 70,000 draws: 6 degrees of freedom, 22.5 is exceeded once in a thousand (the seed is
 * fixed). */
static void bounded_is_uniform(void **state) {
    (void)state;
    vg_random random = vg_random__start(11, 0);
    double cells[7] = {0}, chi = 0;
    for (int i = 0; i < 70000; i++) {
        uint64_t draw = vg_random__below(&random, 7);
        assert_true(draw < 7);
        cells[draw]++;
    }
    for (int i = 0; i < 7; i++)
        chi += (cells[i] - 10000) * (cells[i] - 10000) / 10000;
    assert_true(chi < 22.5);
    assert_true(vg_random__below(&random, 0) == 0);
    assert_true(vg_random__below(&random, 1) == 0);
    /* A bound of 3/4 of the range: taking remainders without rejection would give the lower third two thirds of the
     * draws. */
    const uint64_t bound = UINT64_C(3) << 62;
    int low = 0;
    for (int i = 0; i < 30000; i++)
        low += vg_random__below(&random, bound) < bound / 3;
    assert_in_range(low, 9700, 10300);
}

static void unit_and_normal_have_their_moments(void **state) {
    (void)state;
    enum { DRAWS = 200000 };
    vg_random random = vg_random__start(5, 9);
    double sum = 0, square = 0, inside = 0, fourth = 0, unit = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = vg_random__unit(&random), x = vg_random__normal(&random);
        assert_true(u >= 0 && u < 1);
        assert_true(isfinite(x));
        unit += u;
        sum += x;
        square += x * x;
        fourth += x * x * x * x;
        inside += fabs(x) < 1;
    }
    const double n = DRAWS, five_sigma = 5 / sqrt(n);
    assert_true(fabs(unit / n - 0.5) < five_sigma * sqrt(1.0 / 12));
    assert_true(fabs(sum / n) < five_sigma);
    assert_true(fabs(square / n - 1) < five_sigma * sqrt(2));
    assert_true(fabs(fourth / n - 3) < five_sigma * sqrt(96));
    assert_true(fabs(inside / n - erf(sqrt(0.5))) < five_sigma * 0.5);
}

static void shuffle_is_a_permutation(void **state) {
    (void)state;
    vg_random random = vg_random__start(1, 2);
    int first_of_three[3] = {0}, moved = 0;
    for (int round = 0; round < 3000; round++) {
        size_t items[3] = {0, 1, 2};
        vg_random__shuffle(&random, items, 3);
        assert_int_equal((1 << items[0]) + (1 << items[1]) + (1 << items[2]), 7);
        first_of_three[items[0]]++;
        moved += items[0] == 2 && items[1] == 0;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(first_of_three[i], 870, 1130); /* 1000 +- 5 sigma */
    assert_in_range(moved, 398, 602);                  /* 500 +- 5 sigma: one order of six */
    vg_random__shuffle(&random, NULL, 0);
}

/* --- vector tier -------------------------------------------------------------------------------------------------- */

static void tier_is_forced_down_only(void **state) {
    (void)state;
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX512, NULL), VG_TIER_AVX512);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX512, "avx2"), VG_TIER_AVX2);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX512, "portable"), VG_TIER_PORTABLE);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX2, "avx512"), VG_TIER_AVX2);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_PORTABLE, "avx2"), VG_TIER_PORTABLE);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX2, "neon"), VG_TIER_AVX2);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_NEON, "avx2"), VG_TIER_NEON);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_NEON, "portable"), VG_TIER_PORTABLE);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX2, "AVX9"), VG_TIER_AVX2);
    assert_int_equal(vg_base__cpu_choose_tier(VG_TIER_AVX2, ""), VG_TIER_AVX2);
}

static void tier_follows_the_environment(void **state) {
    (void)state;
    vg_tier best = vg_base__cpu_best_tier();
    assert_int_equal(vg_base__cpu_tier(), vg_base__cpu_choose_tier(best, getenv("VARGATE_CPU")));
    assert_true(vg_base__cpu_can_run(best, vg_base__cpu_tier()));
    assert_string_equal(vg_base__tier_name(VG_TIER_AVX512), "avx512");
    assert_string_equal(vg_base__tier_name((vg_tier)77), "unknown");
#if defined(__x86_64__)
    /* The compiler's own reading of cpuid and xcr0. */
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    assert_int_equal(best, avx512 ? VG_TIER_AVX512 : avx2 ? VG_TIER_AVX2 : VG_TIER_PORTABLE);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_one_line),
        cmocka_unit_test(printable_is_valid_utf8),
        cmocka_unit_test(message_is_cut_not_overrun),
        cmocka_unit_test(message_belongs_to_its_thread),
        cmocka_unit_test(smaller_options_take_defaults),
        cmocka_unit_test(impossible_option_sizes_are_refused),
        cmocka_unit_test(distances_between_words),
        cmocka_unit_test(nearest_name),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(memory_is_aligned_and_zeroed),
        cmocka_unit_test(pool_visits_each_index_once),
        cmocka_unit_test(pool_reports_the_first_failure),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(position_is_the_whole_state),
        cmocka_unit_test(streams_and_seeds_differ),
        cmocka_unit_test(bounded_is_uniform),
        cmocka_unit_test(unit_and_normal_have_their_moments),
        cmocka_unit_test(shuffle_is_a_permutation),
        cmocka_unit_test(tier_is_forced_down_only),
        cmocka_unit_test(tier_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
