# The runtime's structures.  One device has one index of mapped host ranges; a construct that maps something new makes
# one TargetMem (libgomp: target_mem_desc, "tgt"), which owns a block of device memory and the nodes of what is in
# it.

from gompy.native.plugin_types cimport AddrPair, InteropObject, c_bool

cdef extern from "core/mapping/range_index.h" nogil:
    struct gompy_range:  # what SplayNode begins with
        uintptr_t start
        uintptr_t end
    ctypedef struct RangeIndex "struct gompy_index":
        size_t count
        unsigned depth
    ctypedef struct RangeCursor "struct gompy_cursor":
        pass
    gompy_range *gompy_index_lookup(RangeIndex *, uintptr_t start, uintptr_t end)
    bint gompy_index_beyond(const RangeIndex *, uintptr_t start, uintptr_t end)
    void gompy_index_aim(RangeIndex *, const void *object, size_t, bint written)
    void gompy_index_ahead(const RangeIndex *, const void *object, size_t)
    gompy_range *gompy_index_beside(RangeIndex *, uintptr_t start, uintptr_t end)
    void gompy_index_fetch_with(const RangeIndex *, const gompy_range *)
    int gompy_index_insert(RangeIndex *, gompy_range *, uintptr_t view)
    void gompy_index_remove(RangeIndex *, gompy_range *)
    RangeCursor gompy_index_from(const RangeIndex *, uintptr_t start)
    gompy_range *gompy_index_next(RangeCursor *)
    void gompy_index_end(RangeIndex *)
    void gompy_fetch_object(const void *, size_t)

cdef extern from "core/mapping/slabs.h" nogil:
    bint GOMPY_SLABS
    ctypedef struct RecordStore "struct gompy_slabs":  # the records of a device's lone mappings (records.pxi)
        pass
    void *gompy_slabs_take(RecordStore *, size_t bytes)
    void gompy_slabs_give(RecordStore *, void *piece)
    void gompy_slabs_end(RecordStore *, void *kept)

cdef struct AttachedPointer:
    uintptr_t address  # host address of the pointer
    uintptr_t count
    uintptr_t value  # what clang's door has put there last

cdef struct AttachList:
    # Attached pointers of one mapped range, sorted by address.
    size_t used
    size_t room
    size_t at  # which was asked for last
    AttachedPointer *items

cdef struct MoreOfNode:
    # What few mapped ranges have.
    AttachList *attached
    uintptr_t held  # clang's ompx_hold: so many of the references, or of REF_INFINITY's that nobody counts
    void *notes  # what the door that made the node keeps of it; NULL: nothing
    SplayNode *link_key  # the REF_LINK node that this one stands in for
    bint inside  # the block of the node, with which it goes

cdef struct SplayNode:
    # A mapped host range [host_start, host_end) (libgomp: splay_tree_key_s and its node).  There may be millions: 72
    # bytes, and what few have is apart.
    uintptr_t host_start  # the index knows these two: first, and never changed while it has the node
    uintptr_t host_end
    TargetMem *tgt
    uintptr_t tgt_offset  # device address - tgt.tgt_start
    unsigned char ref_kind  # REF_*
    unsigned char removed  # no longer in the index, but a construct that lasts still has it in its list
    unsigned char taken_in  # a struct's pointer that the construct did not list (struct_pointers.pxi)
    unsigned char null_pointer  # TO_PSET: a pointer in it was NULL when it was mapped
    int32_t siblings  # in the first of a struct's elements: how many, itself included; in the others: -place behind it
    uintptr_t refcount  # of a struct's elements: valid in the first only
    uintptr_t dynamic_refcount  # OpenACC: what enter data and acc_copyin, acc_create added to it.  Of what is about to
    #                             go, nobody asks for it: then it is the next one that goes (chain_removed)
    uint64_t stamp  # the construct that changed refcount last
    MoreOfNode *more  # or NULL

cdef struct MapEntry:
    # What a construct does with one entry of its lists at its end (libgomp: target_var_desc).
    SplayNode *key
    uintptr_t offset  # of the entry's address in the key; without a key OFFSET_* or the place in the block
    uintptr_t copy_start  # what goes back to the host at the end: this offset in the key, this length
    uintptr_t length
    size_t follow  # TO_PSET: how many of the next entries are pointers in it
    size_t planned  # where in the block, for a new object
    unsigned char large
    unsigned char copy_from
    unsigned char always_copy_from
    unsigned char is_attach
    unsigned char is_own  # a piece of the region's own (own_entries.pxi)
    unsigned char kind  # GOMP_MAP_*

cdef struct Lasting:
    # What the record of a construct that lasts has besides, and that of an image.
    TargetMem *prev  # the enclosing target data construct
    DeviceDescr *device  # NULL: the host
    uint64_t epoch  # device.epoch when it was made; another one: the device was lost (fork)
    const char *what  # the construct (places.pxi)
    const void *where
    const void *image  # the target data that it stands for, of the functions and variables of an image
    uint32_t list_count
    uint32_t num_nodes
    bint attaches  # pointers
    uint32_t words  # that a region gets
    bint spare_size  # it has room for SPARE_RECORD bytes (records.pxi)
    MapEntry *list
    SplayNode *nodes

cdef struct TargetMem:
    # A block of device memory, and who refers to it.  Its nodes are behind it.  There may be millions: 24 bytes.
    uintptr_t tgt_start
    uint32_t refcount  # keys that are in the index + constructs that last and name one of them, or made it
    uint32_t padding  # from what the device gave to tgt_start; NO_BLOCK: it gave nothing
    Lasting *lasting  # never NULL: of one mapping that an enter data made it is lone_record, of several several_record

cdef struct MapList:
    # The entries of a directive (map_list.pxi).
    size_t mapnum
    void **hostaddrs
    size_t *sizes
    void *kinds  # unsigned short, with the alignment in the upper byte; GCC 4.9's: unsigned char
    bint short_kinds
    const unsigned char *later  # of each entry: it has no argument word (iterators.pxi); NULL: all have one

ctypedef void (*region_fn)(void *) noexcept nogil
ctypedef int (*ops_int_fn)() noexcept nogil
ctypedef unsigned (*ops_unsigned_fn)() noexcept nogil
ctypedef const char *(*ops_name_fn)() noexcept nogil
ctypedef c_bool (*ops_device_fn)(int n) noexcept nogil
ctypedef int (*ops_count_fn)(unsigned requires) noexcept nogil  # the mask from GOMP_VERSION 2 on
# The table of functions for reverse offload from GOMP_VERSION 2 on, that of indirect functions from 3 on, or NULL.
ctypedef int (*ops_load_fn)(int n, unsigned version, const void *data, AddrPair **table, uint64_t **reverse,
                            const uint64_t *indirect) noexcept nogil
ctypedef c_bool (*ops_unload_fn)(int n, unsigned version, const void *data) noexcept nogil
ctypedef void *(*ops_alloc_fn)(int n, size_t size) noexcept nogil
ctypedef c_bool (*ops_free_fn)(int n, void *ptr) noexcept nogil
ctypedef c_bool (*ops_copy_fn)(int n, void *dst, const void *src, size_t size) noexcept nogil
ctypedef void (*ops_run_fn)(int n, void *fn, void *vars, void **args) noexcept nogil
ctypedef void (*ops_async_run_fn)(int n, void *fn, void *vars, void **args, void *data) noexcept nogil
ctypedef void (*ops_run_kernel_fn)(int n, void *kernel, const uint64_t *words, size_t count) noexcept nogil
ctypedef uint64_t (*ops_start_region_fn)(int n, void *fn, void *vars, void **args) noexcept nogil
ctypedef void (*ops_await_region_fn)(int n, uint64_t ticket) noexcept nogil
ctypedef c_bool (*ops_can_run_fn)(void *fn) noexcept nogil

ctypedef void *(*ops_alloc_common_fn)(int n, size_t size, int managed) noexcept nogil
ctypedef c_bool (*ops_free_common_fn)(int n, void *ptr, int managed) noexcept nogil
ctypedef size_t (*ops_guard_step_fn)(int n) noexcept nogil
ctypedef c_bool (*ops_guard_fn)(int n, uintptr_t start, size_t size) noexcept nogil
ctypedef c_bool (*ops_written_fn)(int n, uintptr_t start, size_t size) noexcept nogil
ctypedef c_bool (*ops_stale_fn)(int n, uintptr_t start, unsigned char *stale, size_t size) noexcept nogil
ctypedef c_bool (*ops_hold_fn)(int n, int on) noexcept nogil
ctypedef void (*ops_less_fn)(int n, int on) noexcept nogil
ctypedef uint64_t (*ops_spent_fn)(int n) noexcept nogil
ctypedef void (*memory_user_fn)(const void *memory, size_t size, void *data) noexcept nogil
ctypedef c_bool (*ops_use_fn)(int n, uintptr_t start, size_t size, memory_user_fn use, void *data) noexcept nogil
ctypedef size_t (*ops_extent_fn)(int n, const void *p) noexcept nogil
ctypedef char *(*ops_view_fn)(int n, const void *p, size_t size, c_bool writing) noexcept nogil
ctypedef int (*ops_accessible_fn)(int n, const void *p, size_t size) noexcept nogil
ctypedef void (*ops_acc_exec_fn)(void *fn, size_t mapnum, void **hostaddrs, void **devaddrs, unsigned *dims,
                                 void *tgt) noexcept nogil
ctypedef void (*ops_acc_async_exec_fn)(void *fn, size_t mapnum, void **hostaddrs, void **devaddrs, unsigned *dims,
                                       void *tgt, void *queue) noexcept nogil
ctypedef void *(*ops_create_fn)(int n) noexcept nogil
ctypedef void (*ops_destroy_fn)(void *data) noexcept nogil
ctypedef c_bool (*ops_queue_fn)(void *queue) noexcept nogil
ctypedef int (*ops_queue_test_fn)(void *queue) noexcept nogil
ctypedef c_bool (*ops_serialize_fn)(void *first, void *then) noexcept nogil
ctypedef void (*ops_callback_fn)(void *queue, void (*fn)(void *) noexcept nogil, void *data) noexcept nogil
ctypedef c_bool (*ops_async_copy_fn)(int n, void *dst, const void *src, size_t size, void *queue) noexcept nogil
ctypedef uintptr_t (*ops_property_fn)(int n, int property) noexcept nogil
ctypedef void *(*ops_cuda_current_fn)() noexcept nogil
ctypedef void *(*ops_cuda_stream_fn)(void *queue) noexcept nogil
ctypedef int (*ops_cuda_set_stream_fn)(void *queue, void *stream) noexcept nogil
ctypedef char *(*ops_uid_fn)(int n) noexcept nogil
ctypedef void (*ops_interop_fn)(InteropObject *object, int n, int action, c_bool targetsync,
                                const char *preferred) noexcept nogil
ctypedef intptr_t (*ops_interop_int_fn)(InteropObject *object, int property, int *code) noexcept nogil
ctypedef void *(*ops_interop_ptr_fn)(InteropObject *object, int property, int *code) noexcept nogil
ctypedef const char *(*ops_interop_str_fn)(InteropObject *object, int property, int *code) noexcept nogil
ctypedef const char *(*ops_interop_type_fn)(InteropObject *object, int property) noexcept nogil

cdef struct PluginOps:
    # GOMP_OFFLOAD_* (libgomp-plugin.h); async_run, can_run, get_uid, the interop and the acc_* ones may be absent.
    ops_unsigned_fn version
    unsigned interface  # what that answered
    ops_name_fn get_name
    ops_unsigned_fn get_caps
    ops_int_fn get_type
    ops_count_fn get_num_devices
    ops_device_fn init_device
    ops_device_fn fini_device
    ops_load_fn load_image
    ops_unload_fn unload_image
    ops_alloc_fn alloc
    ops_free_fn free
    ops_copy_fn dev2host
    ops_copy_fn host2dev
    ops_copy_fn dev2dev
    ops_run_fn run
    ops_async_run_fn async_run
    ops_can_run_fn can_run
    ops_uid_fn get_uid
    ops_accessible_fn is_accessible  # GCC 16's, or NULL
    ops_interop_fn interop  # NULL, or all five are there
    ops_interop_int_fn interop_int
    ops_interop_ptr_fn interop_ptr
    ops_interop_str_fn interop_str
    ops_interop_type_fn interop_type
    ops_alloc_common_fn alloc_common  # gompy_alloc_common and gompy_free_common, or NULL
    ops_free_common_fn free_common
    ops_extent_fn extent  # gompy_block_extent, of our own plugins
    ops_view_fn view  # gompy_device_view, or NULL
    ops_run_kernel_fn run_kernel  # gompy_run_kernel, or NULL
    ops_start_region_fn start_region  # gompy_start_region and gompy_await_region, or NULL
    ops_await_region_fn await_region
    ops_unsigned_fn fulfils  # gompy_fulfils, or NULL
    ops_device_fn sets_icvs  # gompy_sets_icvs, or NULL
    ops_guard_step_fn guard_step  # gompy_guard_step and gompy_guard, or NULL
    ops_guard_fn guard
    ops_alloc_fn alloc_words  # gompy_alloc_words, or NULL
    ops_stale_fn mark_stale  # gompy_mark_stale and gompy_stale_left, or NULL
    ops_stale_fn stale_left
    ops_stale_fn find_unset  # gompy_find_unset and gompy_may_be_unset, or NULL
    ops_written_fn may_be_unset
    ops_written_fn may_be_written  # gompy_may_be_written, or NULL
    ops_stale_fn new_contents  # gompy_new_contents, or NULL
    ops_use_fn use_memory  # gompy_use_memory, or NULL
    ops_hold_fn hold_memory  # gompy_hold_memory, or NULL
    ops_spent_fn check_spent  # gompy_check_spent and gompy_check_less, or NULL
    ops_less_fn check_less
    ops_acc_exec_fn acc_exec
    ops_acc_async_exec_fn acc_async_exec
    ops_create_fn acc_create_thread_data
    ops_destroy_fn acc_destroy_thread_data
    ops_create_fn acc_async_construct
    ops_queue_fn acc_async_destruct
    ops_queue_test_fn acc_async_test
    ops_queue_fn acc_async_synchronize
    ops_serialize_fn acc_async_serialize
    ops_callback_fn acc_async_queue_callback
    ops_async_copy_fn acc_async_dev2host
    ops_async_copy_fn acc_async_host2dev
    ops_async_copy_fn acc_async_dev2dev  # GCC 16's and ours
    ops_property_fn acc_get_property
    ops_cuda_current_fn acc_cuda_get_current_device
    ops_cuda_current_fn acc_cuda_get_current_context
    ops_cuda_stream_fn acc_cuda_get_stream
    ops_cuda_set_stream_fn acc_cuda_set_stream

cdef struct FunctionSlot:
    uintptr_t host
    uintptr_t device
    uint64_t calls  # how often it was looked up; not exact where threads launch the same region at once

cdef struct FunctionTable:
    # Open hash of the host addresses of a device's functions; read without a lock, replaced as a whole.
    size_t mask
    size_t count
    FunctionTable *older
    FunctionSlot *slots

cdef struct LinkStorage:
    # A `declare target link` variable whose image entry is the variable itself (ACCEL_STOCK).
    uintptr_t host_start
    uintptr_t host_end
    uintptr_t device
    const void *image

cdef struct HostWrite:
    DeviceDescr *dev
    void *queue
    uintptr_t start
    uintptr_t end
    HostWrite *next

cdef struct HostCopy:
    # A copy between device and host that is being made, or, with size 0, none.
    uintptr_t host
    size_t size
    int to_device
    int kind  # GOMP_MAP_*, -1: of a routine

cdef struct DeviceIcvs:
    # __gomp_additional_icvs of device code by GCC 13 (libgomp: struct gomp_offload_icvs); before, the first member
    # alone.
    int device_num
    int default_device
    int nteams
    int teams_thread_limit

cdef struct DeviceDescr:
    const char *name
    unsigned capabilities
    int target_id  # the device's number in its plugin
    int type
    int number  # the device's number in the program
    uint64_t constructs  # of clang's, how many have begun; under the lock
    gompy_lock_t lock  # held over a whole mapping operation, not over run
    int state  # DEVICE_*
    bint unaligned  # its blocks may begin anywhere (aligned_block)
    uint64_t stamp  # last construct number given out
    uint64_t epoch
    RangeIndex mem_map
    RecordStore records
    TargetMem *spare  # the record of a construct that has ended, for the next one, or NULL (records.pxi)
    uintptr_t view  # from a device address to where this process reads it; NO_VIEW: it copies, 0: not asked for yet
    FunctionTable *functions
    FunctionTable *ancestors  # the other way round: the host's functions that regions call (reverse.pxi)
    LinkStorage *links
    size_t num_links
    TargetMem *images  # loaded ones, chained by prev
    DeviceIcvs icvs
    uintptr_t icvs_address  # where regions of an NVIDIA GPU may have set them; 0: none does
    uint64_t launches
    const void *region  # launched last
    uint64_t bytes_to  # copied to it
    uint64_t bytes_from
    const char *what  # what the lock is held for (places.pxi)
    const void *where
    HostCopy copying  # by the thread that holds the lock
    char *stage_room  # for the stage of the mapping operation that holds the lock (copy.pxi), or NULL
    size_t stage_room_size
    const MapList *whole  # of the enter data that holds the lock and maps its entries group by group, or NULL
    void *queue  # OpenACC: the asynchronous queue of the mapping operation that holds the lock, or NULL
    bint scalars_wait  # and its copies of scalars to the host are waited for (queue_to_host)
    void **queues  # by queue number; NULL where there is none yet
    int num_queues
    pthread_mutex_t queues_lock
    HostWrite *writes  # what the queues have still to copy to the host
    pthread_mutex_t writes_lock
    PluginOps ops  # last: what mappings look at lies together before it
