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
        unsigned waiting = 0;
        shuffle(order);
        for (unsigned t : order) {
            current = &fibers[t];
            if (current->at == DONE)
                continue;
            threadIdx.x = t;
            swapcontext(&scheduler, &current->context);
            waiting += current->at == WAITING;
            done += current->at == DONE;
        }
        if (waiting > 0 && done > 0)
            emulate_errors++;
    }
}
} // namespace

void __syncthreads() {
    unsigned t = threadIdx.x;
    current->at = WAITING;
    swapcontext(&current->context, &scheduler);
    current->at = READY;
    threadIdx.x = t;
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
