/* convert.c - raw elements of files to float32, float64 and int64.
 *
 * Input bytes may have any alignment and either endianness. They are copied in pieces to aligned memory (reversing
 * the bytes where needed) and converted there by loops of fixed length, which compilers vectorise. */
#include <math.h>
#include <string.h>

#include "formats/source.h"

enum { PIECE = 256 };

typedef union piece {
    uint8_t bytes[PIECE * 8];
    uint16_t u16[PIECE];
    uint32_t u32[PIECE];
    uint64_t u64[PIECE];
    float f32[PIECE];
    double f64[PIECE];
    int8_t i8[PIECE];
    uint8_t u8[PIECE];
    int16_t i16[PIECE];
    int32_t i32[PIECE];
    int64_t i64[PIECE];
} piece;

size_t vg_element__size(vg_element element) {
    switch (element) {
    case VG_ELEMENT_I8:
    case VG_ELEMENT_U8:
    case VG_ELEMENT_BOOL: return 1;
    case VG_ELEMENT_F16:
    case VG_ELEMENT_BF16:
    case VG_ELEMENT_I16:
    case VG_ELEMENT_U16: return 2;
    case VG_ELEMENT_F32:
    case VG_ELEMENT_I32:
    case VG_ELEMENT_U32: return 4;
    case VG_ELEMENT_F64:
    case VG_ELEMENT_I64:
    case VG_ELEMENT_U64: return 8;
    }
    return 0;
}

const char *vg_element__name(vg_element element) {
    switch (element) {
    case VG_ELEMENT_F16: return "float16";
    case VG_ELEMENT_BF16: return "bfloat16";
    case VG_ELEMENT_F32: return "float32";
    case VG_ELEMENT_F64: return "float64";
    case VG_ELEMENT_I8: return "int8";
    case VG_ELEMENT_I16: return "int16";
    case VG_ELEMENT_I32: return "int32";
    case VG_ELEMENT_I64: return "int64";
    case VG_ELEMENT_U8: return "uint8";
    case VG_ELEMENT_U16: return "uint16";
    case VG_ELEMENT_U32: return "uint32";
    case VG_ELEMENT_U64: return "uint64";
    case VG_ELEMENT_BOOL: return "bool";
    }
    return "unknown";
}

/* Copies `count` elements of `size` bytes, with their bytes reversed when swapped; the rest of the piece is zeroed,
 * so that the fixed-length loops convert defined values. */
static void load(piece *out, const uint8_t *raw, size_t count, size_t size, bool swapped) {
    memcpy(out->bytes, raw, count * size);
    memset(out->bytes + count * size, 0, (PIECE - count) * size);
    if (!swapped)
        return;
    if (size == 2)
        for (size_t i = 0; i < PIECE; i++)
            out->u16[i] = (uint16_t)(out->u16[i] << 8 | out->u16[i] >> 8);
    else if (size == 4)
        for (size_t i = 0; i < PIECE; i++)
            out->u32[i] = __builtin_bswap32(out->u32[i]);
    else if (size == 8)
        for (size_t i = 0; i < PIECE; i++)
            out->u64[i] = __builtin_bswap64(out->u64[i]);
}

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* binary16: exponent and fraction move to their float32 bits; exponent 31 becomes 255; subnormals (exponent 0) are
 * made by subtracting the hidden bit again, which is exact. */
static inline float half_to_float(uint16_t half) {
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13, exponent = magnitude & 0x0f800000u;
    uint32_t bits = magnitude + (112u << 23);
    bits += exponent == 0x0f800000u ? 112u << 23 : 0;
    bits += exponent == 0 ? 1u << 23 : 0;
    float value = float_of_bits(bits) - (exponent == 0 ? 0x1p-14f : 0.0f);
    return half & 0x8000 ? -value : value;
}

/* Functions that convert to TYPE: piece_NAME one piece, vg_convert__NAME any number of elements. SAME is the element
 * type that needs no conversion. One macro makes them for both types. */
#define EACH(TYPE, EXPRESSION)                                                                                         \
    for (size_t i = 0; i < PIECE; i++)                                                                                 \
        out[i] = (TYPE)(EXPRESSION);                                                                                   \
    return
#define DEFINE_CONVERT(NAME, TYPE, SAME)                                                                               \
    static void piece_##NAME(TYPE *out, const piece *in, vg_element element) {                                         \
        switch (element) {                                                                                             \
        case VG_ELEMENT_F16: EACH(TYPE, half_to_float(in->u16[i]));                                                    \
        case VG_ELEMENT_BF16: EACH(TYPE, float_of_bits((uint32_t)in->u16[i] << 16));                                   \
        case VG_ELEMENT_F32: EACH(TYPE, in->f32[i]);                                                                   \
        case VG_ELEMENT_F64: EACH(TYPE, in->f64[i]);                                                                   \
        case VG_ELEMENT_I8: EACH(TYPE, in->i8[i]);                                                                     \
        case VG_ELEMENT_I16: EACH(TYPE, in->i16[i]);                                                                   \
        case VG_ELEMENT_I32: EACH(TYPE, in->i32[i]);                                                                   \
        case VG_ELEMENT_I64: EACH(TYPE, in->i64[i]);                                                                   \
        case VG_ELEMENT_U8: EACH(TYPE, in->u8[i]);                                                                     \
        case VG_ELEMENT_U16: EACH(TYPE, in->u16[i]);                                                                   \
        case VG_ELEMENT_U32: EACH(TYPE, in->u32[i]);                                                                   \
        case VG_ELEMENT_U64: EACH(TYPE, in->u64[i]);                                                                   \
        case VG_ELEMENT_BOOL: EACH(TYPE, in->u8[i] != 0);                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    void vg_convert__##NAME(TYPE *out, const uint8_t *raw, size_t count, vg_element element, bool swapped) {           \
        size_t size = vg_element__size(element);                                                                       \
        piece in;                                                                                                      \
        TYPE values[PIECE];                                                                                            \
        if (element == SAME && !swapped) {                                                                             \
            if (count)                                                                                                 \
                memcpy(out, raw, count * sizeof *out);                                                                 \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t done = 0; done < count; done += PIECE) {                                                           \
            size_t now = count - done < PIECE ? count - done : PIECE;                                                  \
            load(&in, raw + done * size, now, size, swapped);                                                          \
            piece_##NAME(values, &in, element);                                                                        \
            memcpy(out + done, values, now * sizeof *out);                                                             \
        }                                                                                                              \
    }
DEFINE_CONVERT(f32, float, VG_ELEMENT_F32)
DEFINE_CONVERT(f64, double, VG_ELEMENT_F64)
#undef DEFINE_CONVERT
#undef EACH

static bool is_float(vg_element element) { return element <= VG_ELEMENT_BF16; }

/* Converts one piece to int64. Returns the index of the first value that is not an int64, or `count`. */
static size_t piece_i64(int64_t *out, const piece *in, size_t count, vg_element element) {
    if (is_float(element)) {
        double values[PIECE];
        piece_f64(values, in, element);
        for (size_t i = 0; i < count; i++) {
            if (!(values[i] >= -0x1p63 && values[i] < 0x1p63) || values[i] != trunc(values[i]))
                return i;
            out[i] = (int64_t)values[i];
        }
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        switch (element) {
        case VG_ELEMENT_I8: out[i] = in->i8[i]; break;
        case VG_ELEMENT_I16: out[i] = in->i16[i]; break;
        case VG_ELEMENT_I32: out[i] = in->i32[i]; break;
        case VG_ELEMENT_I64: out[i] = in->i64[i]; break;
        case VG_ELEMENT_U8: out[i] = in->u8[i]; break;
        case VG_ELEMENT_U16: out[i] = in->u16[i]; break;
        case VG_ELEMENT_U32: out[i] = in->u32[i]; break;
        case VG_ELEMENT_U64:
            if (in->u64[i] > INT64_MAX)
                return i;
            out[i] = (int64_t)in->u64[i];
            break;
        default: out[i] = in->u8[i] != 0;
        }
    }
    return count;
}

size_t vg_convert__i64(int64_t *out, const uint8_t *raw, size_t count, vg_element element, bool swapped) {
    size_t size = vg_element__size(element);
    piece in;
    if (element == VG_ELEMENT_I64 && !swapped && count > 0) {
        memcpy(out, raw, count * size);
        return count;
    }
    for (size_t done = 0; done < count; done += PIECE) {
        size_t now = count - done < PIECE ? count - done : PIECE;
        load(&in, raw + done * size, now, size, swapped);
        size_t good = piece_i64(out + done, &in, now, element);
        if (good < now)
            return done + good;
    }
    return count;
}
