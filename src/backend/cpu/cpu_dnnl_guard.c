/* cpu_dnnl_guard.c - calls of oneDNN whose failures are returned as a status. See cpu_dnnl_guard.h. */
#include "backend/cpu/cpu_dnnl_guard.h"

#include "base/base.h"

vg_status vg_dnnl__guarded(void (*work)(void *argument), void *argument) {
#ifdef VG_DNNL_CATCH
    vg_dnnl_thrown thrown = vg_dnnl__catch(work, argument);
    if (thrown == VG_DNNL_NO_MEMORY)
        return vg_base__fail(VG_ERR_MEMORY, "oneDNN: out of memory");
    if (thrown == VG_DNNL_OTHER)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "oneDNN: failed with an exception");
#else
    work(argument);
#endif
    return VG_OK;
}

vg_status vg_dnnl__has_room(size_t bytes) {
    enum { ROOM = 8 << 20 }; /* descriptions and generated code take less than 1 MiB per primitive */
    void *probe;
    size_t total;
    if (!vg_base__add(&total, bytes, ROOM))
        return vg_base__fail(VG_ERR_MEMORY, "oneDNN primitive: %zu bytes do not fit in memory", bytes);
    VG_TRY(vg_base__alloc(&probe, total, 1, "oneDNN primitive"));
    vg_base__release(probe);
    return VG_OK;
}
