// cpu_dnnl_catch.cpp - catches what oneDNN throws; C has no means to. The only C++ of the library, compiled where a C++
// compiler is found.
//
// An exception that is thrown within one of oneDNN's parallel regions ends the process: OpenMP hands none out of them.
// So some memory is held in reserve. Where operator new fails during a guarded call, the reserve is given back to the
// system and the allocation tried again; the next guarded call needs a new reserve or fails.
//
// An exception also passes through functions of the C library (std::call_once is made of pthread_once). glibc then
// loads libgcc_s for itself, and ends the process where memory for that is lacking. So it is loaded before the first
// call.
#include "backend/cpu/cpu_dnnl_guard.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

namespace {

constexpr std::size_t reserve_bytes = std::size_t(4) << 20; // never touched, so that it takes address space alone
std::atomic<void *> reserve{nullptr};
std::mutex lock;
unsigned inside;         // guarded calls that run
std::new_handler before; // what operator new called before the first of them

void spend_reserve() {
    if (void *memory = reserve.exchange(nullptr))
        std::free(memory);
    else if (before)
        before();
    else
        throw std::bad_alloc();
}

// The handler of operator new belongs to the program: it is replaced while guarded calls run, not longer.
class guard {
  public:
    guard() {
        std::lock_guard<std::mutex> held(lock);
        if (!reserve.load())
            reserve.store(std::malloc(reserve_bytes));
        if (inside++ == 0)
            before = std::set_new_handler(spend_reserve);
    }
    ~guard() {
        std::lock_guard<std::mutex> held(lock);
        if (--inside == 0)
            std::set_new_handler(before);
    }
    bool has_reserve() const { return reserve.load() != nullptr; }
};

// False when the C library could not load what it needs to pass an exception on. backtrace() loads the same and reports
// a failure; it finds at least the function that calls it.
bool can_pass_exceptions() {
#if __has_include(<execinfo.h>)
    static std::atomic<bool> loaded{false};
    void *caller;
    if (!loaded.load() && backtrace(&caller, 1) > 0)
        loaded.store(true);
    return loaded.load();
#else
    return true;
#endif
}

} // namespace

vg_dnnl_thrown vg_dnnl__catch(void (*work)(void *argument), void *argument) {
    guard during;
    if (!during.has_reserve() || !can_pass_exceptions())
        return VG_DNNL_NO_MEMORY;
    try {
        work(argument);
    } catch (const std::bad_alloc &) {
        return VG_DNNL_NO_MEMORY;
    } catch (...) {
        return VG_DNNL_OTHER;
    }
    return VG_DNNL_NOTHING;
}
