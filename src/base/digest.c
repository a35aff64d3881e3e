/* digest.c - MD5 and SHA-256. Both take blocks of 64 bytes, pad with 0x80, zeros and the length in bits, and differ in
 * byte order and round function; constants are those of the two standards. */
#include "base/digest.h"

#include <stdbool.h>
#include <string.h>

static const uint32_t md5_start[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
static const uint32_t sha_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* floor(2^32 |sin(i + 1)|) */
static const uint32_t md5_sine[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const unsigned char md5_turn[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes */
static const uint32_t sha_cube[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t left(uint32_t x, unsigned by) { return x << by | x >> (32 - by); }
static inline uint32_t right(uint32_t x, unsigned by) { return x >> by | x << (32 - by); }

static void md5_block(uint32_t state[8], const unsigned char *block) {
    uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16 | (uint32_t)block[3] << 24;
    for (unsigned i = 0; i < 64; i++) {
        uint32_t f;
        unsigned g;
        switch (i >> 4) {
        case 0: f = (b & c) | (~b & d), g = i; break;
        case 1: f = (d & b) | (~d & c), g = (5 * i + 1) & 15; break;
        case 2: f = b ^ c ^ d, g = (3 * i + 5) & 15; break;
        default: f = c ^ (b | ~d), g = (7 * i) & 15; break;
        }
        uint32_t next = b + left(a + f + md5_sine[i] + w[g], md5_turn[(i >> 4) * 4 + (i & 3)]);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static void sha_block(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | (uint32_t)block[3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t s0 = right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(s, state, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 =
            s[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + sha_cube[i] + w[i];
        uint32_t t2 = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

static void take_block(vg_digest *digest, const unsigned char *block) {
    if (digest->kind == VG_DIGEST_MD5)
        md5_block(digest->state, block);
    else
        sha_block(digest->state, block);
}

void vg_digest__start(vg_digest *digest, vg_digest_kind kind) {
    memset(digest, 0, sizeof *digest);
    digest->kind = kind;
    if (kind == VG_DIGEST_MD5)
        memcpy(digest->state, md5_start, sizeof md5_start);
    else
        memcpy(digest->state, sha_start, sizeof sha_start);
}

void vg_digest__update(vg_digest *digest, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    size_t held = digest->bytes & 63;
    digest->bytes += size;
    if (held > 0) {
        size_t part = 64 - held < size ? 64 - held : size;
        memcpy(digest->block + held, from, part);
        from += part, size -= part, held += part;
        if (held < 64)
            return;
        take_block(digest, digest->block);
    }
    for (; size >= 64; from += 64, size -= 64)
        take_block(digest, from);
    if (size > 0)
        memcpy(digest->block, from, size);
}

void vg_digest__finish(vg_digest *digest, char text[VG_DIGEST_TEXT]) {
    static const char hex[] = "0123456789abcdef";
    static const unsigned char padding[64] = {0x80};
    bool big = digest->kind == VG_DIGEST_SHA256;
    uint64_t bits = digest->bytes * 8;
    size_t held = digest->bytes & 63;
    vg_digest__update(digest, padding, held < 56 ? 56 - held : 120 - held);
    unsigned char length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (big ? 56 - 8 * i : 8 * i));
    vg_digest__update(digest, length, 8);
    unsigned words = big ? 8 : 4;
    for (unsigned i = 0; i < 4 * words; i++) {
        unsigned byte = digest->state[i / 4] >> (big ? 24 - 8 * (i % 4) : 8 * (i % 4)) & 255;
        text[2 * i] = hex[byte >> 4];
        text[2 * i + 1] = hex[byte & 15];
    }
    text[8 * words] = '\0';
}
