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

vg_status vg_dnnl__has_room(void) {
    enum { ROOM = 8 << 20 }; /* descriptions and generated code take less than 1 MiB per primitive */
    void *probe;
    VG_TRY(vg_base__alloc(&probe, ROOM, 1, "oneDNN primitive"));
    vg_base__release(probe);
    return VG_OK;
}
