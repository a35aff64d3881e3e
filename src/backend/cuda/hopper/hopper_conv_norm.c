/* hopper_conv_norm.c - a convolution and the batch-norm after it in one kernel, where the Hopper kernel does the
 * convolution. */
#include "backend/cuda/cuda_conv.h"
#include "backend/cuda/hopper/hopper_conv.h"

vg_status vg_cuda__hopper_conv_norm(vg_backend *b, const vg_conv_norm *op, const vg_block *theta, bool *done) {
    vg_tensor *y = op->y, *z = op->z;
    cuda_conv_key key = vg_cuda__conv_key(CUDA_CONV_FORWARD, &op->conv, op->w, op->x, z);
    const void *weights;
    bool own;
    key.addend = op->addend != NULL;
    *done = false;
    if (op->norm.training || vg_cuda__packed(op->w) || (int64_t)z->shape.c != key.o || !vg_cuda__hopper_serves(b, &key))
        return VG_OK;
    VG_TRY(vg_cuda__writes(b, z));
    VG_TRY(vg_cuda__weights(b, &weights, theta, op->w));
    cuda_conv_places places = {cuda_t(op->x)->data, (void *)weights, cuda_t(z)->data,
                               op->addend ? cuda_t(op->addend)->data : NULL};
    float pass = 2.0f * (float)(z->n * cuda_t(z)->row * cuda_t(z)->element) / VG_CUDA_BYTES_PER_MS;
    VG_TRY(vg_cuda__conv_own(b, &key, &places, pass, &own));
    if (!own)
        return VG_OK;
    hopper_norm norm = {.z = cuda_t(z)->data,
                        .gamma = cuda_b(theta)->data + op->gamma->offset,
                        .beta = cuda_b(theta)->data + op->beta->offset,
                        .running = cuda_t(op->running)->data,
                        .epsilon = op->norm.epsilon,
                        .floor = vg_cuda__floor(op->norm.relu),
                        .mask = vg_cuda__mask(b, op->norm.dropout, z->shape)};
    uint32_t positions;
    VG_TRY(vg_cuda__positions(&positions, z));
    if (y)
        VG_TRY(vg_cuda__writes(b, y));
    places.y = y ? cuda_t(y)->data : NULL;
    *done = true;
    return vg_cuda__hopper_run_norm(b, &key, &places, &norm);
}
