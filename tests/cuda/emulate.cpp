/* emulate.cpp - runs a kernel's blocks and threads on the host; see fake/cuda_runtime_api.h. */
#include <algorithm>
#include <ucontext.h>
#include <vector>

#include <cuda_runtime_api.h>

uint64_t emulate_seed = 1;
unsigned emulate_errors, emulate_launches;
emulate_index threadIdx, blockIdx, blockDim, gridDim;

namespace {
enum { STACK = 128 * 1024 };
enum state { READY, WAITING, DONE };

struct fiber {
    ucontext_t context;
    std::vector<char> stack;
    state at;
};

ucontext_t scheduler;
std::vector<fiber> fibers;
fiber *current;
const std::function<void()> *body;
uint64_t random_state;

uint64_t draw() { /* splitmix64 */
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void shuffle(std::vector<unsigned> &order) {
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[draw() % i]);
}

void enter() {
    (*body)();
    current->at = DONE;
    swapcontext(&current->context, &scheduler);
}

/* Threads that wait at a barrier continue when all have reached it; a thread that has ended by then should have reached
 * it too. */
void release(unsigned threads) {
    unsigned waiting = 0, done = 0;
    for (unsigned t = 0; t < threads; t++) {
        waiting += fibers[t].at == WAITING;
        done += fibers[t].at == DONE;
    }
    if (waiting == 0 || waiting + done < threads)
        return;
    emulate_errors += done > 0;
    for (unsigned t = 0; t < threads; t++)
        if (fibers[t].at == WAITING)
            fibers[t].at = READY;
}

void run_block(unsigned threads) {
    std::vector<unsigned> order(threads);
    for (unsigned t = 0; t < threads; t++) {
        fiber &f = fibers[t];
        order[t] = t;
        f.at = READY;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.data();
        f.context.uc_stack.ss_size = f.stack.size();
        f.context.uc_link = nullptr;
        makecontext(&f.context, enter, 0);
    }
    for (unsigned done = 0; done < threads;) {
        shuffle(order);
        for (unsigned t : order) {
            current = &fibers[t];
            if (current->at != READY)
                continue;
            threadIdx.x = t;
            swapcontext(&scheduler, &current->context);
            done += current->at == DONE;
        }
        release(threads);
    }
}

void give_way(state at) {
    unsigned t = threadIdx.x;
    current->at = at;
    swapcontext(&current->context, &scheduler);
    threadIdx.x = t;
}

/* The operands that the threads of one warp contribute to a product; `turn` increases when all have contributed and
 * when all have read their results. */
struct warp {
    uint32_t a[32][4], b[32][2];
    const void *rows[32];
    unsigned arrived, turn;
};
warp warps[32];

void meet(warp &w) {
    unsigned turn = w.turn;
    if (++w.arrived == 32) {
        w.arrived = 0;
        w.turn++;
    }
    while (w.turn == turn)
        give_way(READY);
}

float half_of(uint32_t word, unsigned k) { return __uint_as_float(k % 2 ? word & 0xFFFF0000u : word << 16); }
} // namespace

void __syncthreads() { give_way(WAITING); }

/* Element (row, k) of a 16 x 16 lies with lane 4 (row % 8) + k % 8 / 2, in word row / 8 + 2 (k / 8); of b likewise. */
void emulate_multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    unsigned lane = threadIdx.x % 32;
    warp &w = warps[threadIdx.x / 32];
    memcpy(w.a[lane], a, sizeof a);
    memcpy(w.b[lane], b, sizeof b);
    meet(w);
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 16; k++)
            c[i] += half_of(w.a[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], k) *
                    half_of(w.b[column * 4 + k % 8 / 2][k / 8], k);
    }
    meet(w);
}

/* Every lane names a row; the matrices are read once all lanes have. */
static warp &name_rows(const void *row) {
    warp &w = warps[threadIdx.x / 32];
    w.rows[threadIdx.x % 32] = row;
    meet(w);
    return w;
}

void emulate_load_matrices(uint32_t (&words)[4], const void *row) {
    unsigned lane = threadIdx.x % 32;
    warp &w = name_rows(row);
    for (unsigned m = 0; m < 4; m++)
        words[m] = ((const uint32_t *)w.rows[8 * m + lane / 4])[lane % 4];
    meet(w);
}

void emulate_load_matrices_turned(uint32_t (&words)[4], const void *row) {
    unsigned lane = threadIdx.x % 32;
    warp &w = name_rows(row);
    for (unsigned m = 0; m < 4; m++) {
        const void *const *rows = w.rows + 8 * m + lane % 4 * 2;
        words[m] = ((const uint16_t *)rows[0])[lane / 4] | (uint32_t)((const uint16_t *)rows[1])[lane / 4] << 16;
    }
    meet(w);
}

void emulate_launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel) {
    std::vector<unsigned> order(blocks);
    random_state = emulate_seed + 1000003u * emulate_launches++;
    while (fibers.size() < threads)
        fibers.push_back({{}, std::vector<char>(STACK), DONE});
    for (unsigned b = 0; b < blocks; b++)
        order[b] = b;
    shuffle(order);
    body = &kernel;
    blockDim.x = threads;
    gridDim.x = blocks;
    for (unsigned b : order) {
        blockIdx.x = b;
        run_block(threads);
    }
}
