/* top.h - the index of the largest of some floats, the first one of equals; and that of several short rows. */

static uint32_t first_top(const float *x, size_t count) {
    const size_t lanes = 2 * VG_LANES;
    vf best = vf_set(-INFINITY), v;
    size_t c = 0;
    for (; c + lanes <= count; c += lanes) {
        memcpy(&v, x + c, sizeof v);
        best = vf_max(v, best);
    }
    float most = vf_top(best);
    for (; c < count; c++)
        most = x[c] > most ? x[c] : most;
    for (c = 0; c + lanes <= count; c += lanes) {
        memcpy(&v, x + c, sizeof v);
        size_t lane = vf_place(v, most);
        if (lane < lanes)
            return (uint32_t)(c + lane);
    }
    while (c + 1 < count && x[c] != most)
        c++;
    return (uint32_t)c;
}

#if defined(VG_TIER_IS_AVX512)
/* The same for `rows` rows of at most 16 floats, `step` apart. The largest ends up in every lane, so that rows do not
 * wait for each other. */
static void first_tops(uint32_t *tops, const float *x, ptrdiff_t step, size_t rows, size_t count) {
    const __mmask16 here = (__mmask16)((1u << count) - 1);
    for (size_t i = 0; i < rows; i++) {
        __m512 v = _mm512_mask_loadu_ps(_mm512_set1_ps(-INFINITY), here, x + (ptrdiff_t)i * step);
        __m256 low = _mm512_castps512_ps256(v), high = _mm512_extractf32x8_ps(v, 1), most = _mm256_max_ps(low, high);
        most = _mm256_max_ps(most, _mm256_permute2f128_ps(most, most, 1));
        most = _mm256_max_ps(most, _mm256_permute_ps(most, 0x4e));
        most = _mm256_max_ps(most, _mm256_permute_ps(most, 0xb1));
        unsigned found = _mm256_cmp_ps_mask(low, most, _CMP_EQ_OQ) |
                         (unsigned)_mm256_cmp_ps_mask(high, most, _CMP_EQ_OQ) << 8 | 1u << 16; /* never 0 */
        tops[i] = (uint32_t)__builtin_ctz(found);
    }
}
#endif
