/* digest.h - MD5 (RFC 1321) and SHA-256 (FIPS 180-4) of byte streams, to recognise published files. Internal.
 *
 *     vg_digest digest;
 *     vg_digest__start(&digest, VG_DIGEST_MD5);
 *     vg_digest__update(&digest, bytes, size);        // any number of times
 *     char text[VG_DIGEST_TEXT];
 *     vg_digest__finish(&digest, text);               // lower-case hexadecimal, NUL-terminated
 *
 * MD5 tells a damaged file from a whole one; it does not protect against a forged one. */
#ifndef VG_DIGEST_H
#define VG_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef enum vg_digest_kind { VG_DIGEST_MD5, VG_DIGEST_SHA256 } vg_digest_kind;
enum { VG_DIGEST_TEXT = 65 };

typedef struct vg_digest {
    vg_digest_kind kind;
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} vg_digest;

void vg_digest__start(vg_digest *digest, vg_digest_kind kind);
void vg_digest__update(vg_digest *digest, const void *bytes, size_t size);
void vg_digest__finish(vg_digest *digest, char text[VG_DIGEST_TEXT]);

#endif
