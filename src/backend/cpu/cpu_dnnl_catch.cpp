// cpu_dnnl_catch.cpp - catches what oneDNN throws; C has no means to. The only C++ of the library, compiled where a C++
// compiler is found.
#include "backend/cpu/cpu_dnnl_guard.h"

#include <new>

vg_dnnl_thrown vg_dnnl__catch(void (*work)(void *argument), void *argument) {
    try {
        work(argument);
    } catch (const std::bad_alloc &) {
        return VG_DNNL_NO_MEMORY;
    } catch (...) {
        return VG_DNNL_OTHER;
    }
    return VG_DNNL_NOTHING;
}
