# The forms that clang 5 to 14 called, on the newer ones (LLVM: LegacyAPI.cpp).


cdef public void tgt_target_data_begin "gompy_llvm___tgt_target_data_begin"(
        int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    data_begin(NULL, device, &maps, False, call_site())


cdef public void tgt_target_data_begin_nowait "gompy_llvm___tgt_target_data_begin_nowait"(
        int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types, int deps, void
        *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    data_begin(NULL, device, &maps, False, call_site())


cdef public void tgt_target_data_end "gompy_llvm___tgt_target_data_end"(
        int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    data_end(NULL, device, &maps, False, call_site())


cdef public void tgt_target_data_end_nowait "gompy_llvm___tgt_target_data_end_nowait"(
        int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types, int deps, void
        *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    data_end(NULL, device, &maps, False, call_site())


cdef public void tgt_target_data_update "gompy_llvm___tgt_target_data_update"(
        int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    data_update(NULL, device, &maps, False, call_site())


cdef public void tgt_target_data_update_nowait "gompy_llvm___tgt_target_data_update_nowait"(
        int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types, int deps, void
        *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    data_update(NULL, device, &maps, False, call_site())


cdef public int tgt_target "gompy_llvm___tgt_target"(
        int64_t device, const void *region, int count, void **bases, void **begins, int64_t *sizes,
        int64_t *types) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    return target_region(NULL, device, region, &maps, False, 1, call_site())


cdef public int tgt_target_mapper "gompy_llvm___tgt_target_mapper"(
        const TgtIdent *where, int64_t device, const void *region, int count, void **bases, void **begins, int64_t
        *sizes, int64_t *types, void **names, void **mappers) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    return target_region(where, device, region, &maps, False, 1, call_site())


cdef public int tgt_target_nowait "gompy_llvm___tgt_target_nowait"(
        int64_t device, const void *region, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        int deps, void *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    return target_region(NULL, device, region, &maps, False, 1, call_site())


cdef public int tgt_target_nowait_mapper "gompy_llvm___tgt_target_nowait_mapper"(
        const TgtIdent *where, int64_t device, const void *region, int count, void **bases, void **begins, int64_t
        *sizes, int64_t *types, void **names, void **mappers, int deps, void *dep_list, int more_deps, void
        *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    return target_region(where, device, region, &maps, False, 1, call_site())


cdef public int tgt_target_teams "gompy_llvm___tgt_target_teams"(
        int64_t device, const void *region, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        int teams, int threads) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    return target_region(NULL, device, region, &maps, False, teams, call_site())


cdef public int tgt_target_teams_mapper "gompy_llvm___tgt_target_teams_mapper"(
        const TgtIdent *where, int64_t device, const void *region, int count, void **bases, void **begins, int64_t
        *sizes, int64_t *types, void **names, void **mappers, int teams, int threads) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    return target_region(where, device, region, &maps, False, teams, call_site())


cdef public int tgt_target_teams_nowait "gompy_llvm___tgt_target_teams_nowait"(
        int64_t device, const void *region, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        int teams, int threads, int deps, void *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, NULL, NULL)
    return target_region(NULL, device, region, &maps, False, teams, call_site())


cdef public int tgt_target_teams_nowait_mapper "gompy_llvm___tgt_target_teams_nowait_mapper"(
        const TgtIdent *where, int64_t device, const void *region, int count, void **bases, void **begins, int64_t
        *sizes, int64_t *types, void **names, void **mappers, int teams, int threads, int deps, void *dep_list, int
        more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    return target_region(where, device, region, &maps, False, teams, call_site())


cdef public void kmpc_push_target_tripcount "gompy_llvm___kmpc_push_target_tripcount"(
        int64_t device, uint64_t count) noexcept nogil:
    """A loop's number of rounds: the region's own code knows it."""
    pass


cdef public void kmpc_push_target_tripcount_mapper "gompy_llvm___kmpc_push_target_tripcount_mapper"(
        const TgtIdent *where, int64_t device, uint64_t count) noexcept nogil:
    pass
