/* MD5 and SHA-256 against the vectors of RFC 1321 and FIPS 180-4, whole and in pieces of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"

static void check(vg_digest_kind kind, const char *text, const char *expected) {
    size_t size = strlen(text);
    for (size_t piece = 1; piece <= size + 1; piece++) {
        vg_digest digest;
        char found[VG_DIGEST_TEXT];
        vg_digest__start(&digest, kind);
        for (size_t at = 0; at < size; at += piece)
            vg_digest__update(&digest, text + at, piece < size - at ? piece : size - at);
        vg_digest__finish(&digest, found);
        assert_string_equal(found, expected);
    }
}

static void md5_vectors(void **state) {
    (void)state;
    check(VG_DIGEST_MD5, "", "d41d8cd98f00b204e9800998ecf8427e");
    check(VG_DIGEST_MD5, "a", "0cc175b9c0f1b6a831c399e269772661");
    check(VG_DIGEST_MD5, "abc", "900150983cd24fb0d6963f7d28e17f72");
    check(VG_DIGEST_MD5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0");
    check(VG_DIGEST_MD5, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
          "d174ab98d277d9f5a5611c2c9f419d9f");
    check(VG_DIGEST_MD5, "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
          "57edf4a22be3c955ac49da2e2107b67a");
}

static void sha256_vectors(void **state) {
    (void)state;
    check(VG_DIGEST_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check(VG_DIGEST_SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check(VG_DIGEST_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check(VG_DIGEST_SHA256,
          "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopq"
          "rstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

/* A million times 'a': lengths beyond one block's count. */
static void long_input(void **state) {
    (void)state;
    static const char *expected[2] = {"7707d6ae4e027c70eea2a935c2296f21",
                                      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"};
    char block[1000], found[VG_DIGEST_TEXT];
    memset(block, 'a', sizeof block);
    for (int kind = 0; kind < 2; kind++) {
        vg_digest digest;
        vg_digest__start(&digest, kind == 0 ? VG_DIGEST_MD5 : VG_DIGEST_SHA256);
        for (int i = 0; i < 1000; i++)
            vg_digest__update(&digest, block, sizeof block);
        vg_digest__finish(&digest, found);
        assert_string_equal(found, expected[kind]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(md5_vectors), cmocka_unit_test(sha256_vectors),
                                       cmocka_unit_test(long_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
