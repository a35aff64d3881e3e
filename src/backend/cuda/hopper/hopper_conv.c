/* hopper_conv.c - which convolutions the Hopper kernels serve, and the tensor maps and descriptors that they need.
 *
 * A tensor map describes a tensor in memory and the box of it that the copy engine (TMA) loads. It is passed by value
 * as a kernel parameter, so recordings keep it. A descriptor describes a matrix in shared memory to the tensor cores.
 * Both contain the swizzle: 16-byte pieces of a row of 128 (64) bytes are permuted by the row's number, to avoid bank
 * conflicts. */
#include "backend/cuda/hopper/hopper_conv.h"

#include <string.h>

typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                    const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                    CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_function encoder(void) {
    void *function = NULL;
    encode_function out = NULL;
    enum cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result) !=
            cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
        return NULL;
    memcpy(&out, &function, sizeof out);
    return out;
}

static bool hopper_device(void) {
    int device, major = 0, minor = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess && major == 9 &&
           minor == 0;
}

bool vg_cuda__hopper_serves(vg_backend *b, const cuda_conv_key *k) {
    bool shape = k->r == 3 && k->s == 3 && k->stride == 1 && k->pad == 1 && k->h == k->w && k->oh == k->h &&
                 k->ow == k->w && (k->h == 8 || k->h == 16 || k->h == 32) && k->c % 32 == 0 && k->o % 32 == 0 &&
                 k->n > 0 && k->n <= 65536 && k->c <= 4096 && k->o <= 4096;
    int64_t columns = k->kind == CUDA_CONV_DATA ? k->c : k->o;
    return cuda_bf16(b) && shape && columns % HOPPER_N == 0 && (k->kind != CUDA_CONV_WEIGHTS || k->wide) &&
           hopper_device() && encoder() != NULL;
}

static vg_status map(CUtensorMap *out, const void *at, cuuint32_t rank, const cuuint64_t *sizes, const cuuint32_t *box,
                     CUtensorMapSwizzle swizzle) {
    encode_function encode = encoder();
    cuuint64_t strides[4] = {sizes[0] * 2};
    cuuint32_t steps[4] = {1, 1, 1, 1};
    for (cuuint32_t i = 1; i + 1 < rank; i++)
        strides[i] = strides[i - 1] * sizes[i];
    CUresult result = encode ? encode(out, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, (void *)at, sizes, strides, box,
                                      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                             : CUDA_ERROR_NOT_FOUND;
    return result == CUDA_SUCCESS
               ? VG_OK
               : vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: a tensor map was refused (%d)", (int)result);
}

static CUtensorMapSwizzle swizzle_of(uint32_t box_channels) {
    return box_channels == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
}

/* A square activation in memory, channels last. */
typedef struct activation {
    const void *data;
    int64_t n, width, channels;
} activation;

/* Boxes of an activation: channels, width, height, images. */
static vg_status boxes(CUtensorMap *out, activation of, const cuuint32_t box[4]) {
    cuuint64_t width = (cuuint64_t)of.width, sizes[4] = {(cuuint64_t)of.channels, width, width, (cuuint64_t)of.n};
    return map(out, of.data, 4, sizes, box, swizzle_of(box[0]));
}

/* Boxes of whole rows: `pixels` pixels, plus `halo` rows above and below together. */
static vg_status rows_of(CUtensorMap *out, activation of, uint32_t box_channels, uint32_t pixels, uint32_t halo) {
    uint32_t w = (uint32_t)of.width, images = pixels > w * w ? pixels / (w * w) : 1, rows = pixels / images / w;
    return boxes(out, of, (cuuint32_t[4]){box_channels, w, rows + halo, images});
}

/* Boxes of a tile's squares of 8 x 8 pixels, one below the other or in four images, with a border of `border` on all
 * sides. */
static vg_status squares_of(CUtensorMap *out, activation of, uint32_t box_channels, uint32_t border) {
    uint32_t w = (uint32_t)of.width;
    return boxes(out, of, (cuuint32_t[4]){box_channels, 8 + 2 * border, w + 2 * border, w == 8 ? 4 : 1});
}

/* A descriptor without its address: swizzle 1 is of 128 bytes, 2 of 64. Where an operand is contiguous along its
 * columns, `leading` is the distance from one swizzled block of columns to the next and `stride` that from eight rows
 * to the next eight; where it is contiguous along its rows, only `stride` is used, from eight columns to the next
 * eight. */
static uint64_t bits(uint64_t swizzle, uint64_t leading, uint64_t stride) {
    return swizzle << 62 | stride >> 4 << 32 | leading >> 4 << 16;
}

static vg_status failed(int error, const char *kernel) {
    return error == (int)cudaSuccess ? VG_OK : vg_cuda__check((cudaError_t)error, kernel);
}

static vg_status forward(vg_backend *b, const cuda_conv_key *k, const cuda_conv_places *places,
                         const hopper_norm *norm) {
    bool transposed = k->kind == CUDA_CONV_DATA;
    hopper_forward work = {.y = transposed ? places->x : places->y,
                           .addend = k->addend,
                           .n = (int)k->n,
                           .width = (int)k->h,
                           .k = (int)(transposed ? k->o : k->c),
                           .columns = (int)(transposed ? k->c : k->o),
                           .transposed = transposed,
                           .a_bits = bits(2, 16, 10 * 64),
                           .b_bits = transposed ? bits(1, 32 * 128, 1024) : bits(2, 16, 512),
                           .blocks = cuda_of(b)->multiprocessors};
    if (norm) {
        work.norm = *norm;
        /* Starts where the previous one ended, because those tiles are still in the cache. */
        work.backwards = cuda_of(b)->backwards;
        cuda_of(b)->backwards = !work.backwards;
    }
    cuuint64_t sizes[3] = {(cuuint64_t)k->c, 9, (cuuint64_t)k->o};
    cuuint32_t box[3] = {transposed ? 64 : 32, 1, transposed ? 32 : HOPPER_N};
    VG_TRY(squares_of(&work.x, (activation){transposed ? places->y : places->x, k->n, k->h, work.k}, 32, 1));
    VG_TRY(map(&work.w, places->w, 3, sizes, box, swizzle_of(box[0])));
    if (k->addend) {
        VG_TRY(squares_of(&work.addend_wide, (activation){places->addend, k->n, k->h, work.columns}, 64, 0));
        VG_TRY(squares_of(&work.addend_narrow, (activation){places->addend, k->n, k->h, work.columns}, 32, 0));
    }
    return failed(vg_cuda__k_hopper_forward(cuda_of(b)->stream, &work), "a convolution");
}

static vg_status weights(vg_backend *b, const cuda_conv_key *k, const cuda_conv_places *places) {
    cuda_context *c = cuda_of(b);
    hopper_weights work = {.grad = places->w,
                           .n = (int)k->n,
                           .width = (int)k->h,
                           .c = (int)k->c,
                           .o = (int)k->o,
                           .a_bits = bits(1, 16, 1024),
                           .narrow_bits = bits(2, 0, 512),
                           .b_bits = bits(2, HOPPER_CHUNK * 64, 512),
                           .blocks = c->multiprocessors};
    VG_TRY(vg_cuda__scratch(c, &work.partial, vg_cuda__hopper_partials(work.c, work.o, work.blocks) * sizeof(float)));
    VG_TRY(rows_of(&work.x, (activation){places->x, k->n, k->h, k->c}, 64, HOPPER_CHUNK, 2));
    VG_TRY(rows_of(&work.narrow, (activation){places->x, k->n, k->h, k->c}, 32, HOPPER_CHUNK, 2));
    VG_TRY(rows_of(&work.dy, (activation){places->y, k->n, k->h, k->o}, 32, HOPPER_CHUNK, 0));
    return failed(vg_cuda__k_hopper_weights(c->stream, &work), "a weight gradient");
}

vg_status vg_cuda__hopper_run(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places) {
    return key->kind == CUDA_CONV_WEIGHTS ? weights(b, key, places) : forward(b, key, places, NULL);
}

vg_status vg_cuda__hopper_run_norm(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places,
                                   const hopper_norm *norm) {
    return forward(b, key, places, norm);
}

extern const cuda_accelerator vg_cuda__hopper;
const cuda_accelerator vg_cuda__hopper = {.name = "hopper",
                                          .conv_serves = vg_cuda__hopper_serves,
                                          .conv_run = vg_cuda__hopper_run,
                                          .conv_norm_forward = vg_cuda__hopper_conv_norm};
