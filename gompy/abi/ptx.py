"""What the PTX compiler (gompy/ptx/*.py), the code that it makes, and the executor (gompy/ptx/*.pxi) agree on.

gompy/native/generate.py makes a header and a .pxd of it: constants, the records of cache files, the begin of the warp.
"""

from __future__ import annotations

import os

IDENTITY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_native", "lib", "ptx-identity")
"""The file with the hash of the sources that make code and run it, 32 letters, which the build writes (setup.py)."""


def identity() -> str:
    """What compiled code is thrown away by when it changes: the hash of the sources; zeros if nothing is built."""
    try:
        with open(IDENTITY, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "0" * 32


SOURCES = IDENTITY.replace("ptx-identity", "ptx-sources")
"""The file with `compiler_sources` as the executor was built, which the build writes, too."""


def compiler_sources() -> str:
    """A checksum of the compiler's modules as they are now, and of this one."""
    from binascii import crc32

    folder, found = os.path.join(os.path.dirname(os.path.dirname(__file__)), "ptx"), 0
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".py")):
        with open(os.path.join(folder, name), "rb") as file:
            found = crc32(file.read(), crc32(name.encode(), found))
    with open(__file__, "rb") as file:
        return f"{crc32(file.read(), found):08x}"


def is_stale() -> bool:
    """Whether a tree's compiler is another than the executor was built with: what it made would lie among what that
    one's did.  An installation does not change."""
    try:
        with open(SOURCES, encoding="ascii") as file:
            built = file.read()
    except OSError:
        return False
    root = os.path.dirname(os.path.dirname(os.path.dirname(IDENTITY)))
    return os.path.exists(os.path.join(root, "..", "setup.py")) and built != compiler_sources()


LANES = 32

WHOLE_SHIFT, WHOLE_WRITTEN, LOOKS = 9, 2, 32
"""Checked code: how many bytes of device memory share a byte of the warp's `whole`, as a power of two; what that is
where all of them are written; after how many accesses to other blocks the executor looks at one."""
TURNS_MARKED = 1 << 30
"""In the answer of `turns`: `turned` has something to mark."""
SPAN_SIZE_AT, SPAN_WRITES = 16, 1 << 15
"""In a span's third word: where the size of one access begins, and that they are written, not read.

Below are the bytes of a turn."""

SLOW_FILES = ("slow.S", "slow.s")
"""The cache files of what all code calls for its slow accesses (slow.py): without and with checks."""
SLOW_PREFIXES = ("gompy_slow_", "gompy_check_")

SHARED_BASE = 0x7F000000
LOCAL_BASE = 0x80000000
"""Generic addresses of shared memory and of local memory (the same number in all lanes means each lane's own)."""

SHARED_LIMIT = 49152
"""Bytes of the `.shared` variables that a kernel may have (ptxas: "0xc000 max")."""

WARP_FIELDS = (
    ("base", "uint64_t"),  # device memory: first address
    ("size", "uint64_t"),  # and bytes
    ("shared", "char *"),
    ("shared_size", "uint64_t"),
    ("local", "char *"),  # (offset & ~7) * 32 + lane * 8 + (offset & 7)
    ("local_size", "uint64_t"),  # bytes a lane
    ("local_top", "uint64_t"),  # bytes in use
    ("params", "const char *"),  # the kernel's parameters
    ("ops", "void *const *"),  # the table of OPS
    ("fuel", "int32_t"),  # loop turns until the warp yields
    ("exited", "uint32_t"),  # lanes that have left
    ("ctaid", "uint32_t[3]"),  # x, y, z
    ("ntid", "uint32_t[3]"),
    ("nctaid", "uint32_t[3]"),
    ("warpid", "uint32_t"),
    ("nwarps", "uint32_t"),
    ("dynamic_shared", "uint32_t"),  # bytes
    ("tid", "uint32_t[3][32]"),
    ("shadow", "uint8_t *"),  # checked code: a byte for each of device memory (checks.py)
    ("shared_shadow", "uint8_t *"),  # and of shared memory
    ("whole", "uint8_t *"),  # a byte for each 1 << WHOLE_SHIFT bytes of device memory: whether all of them are written
    ("races", "void *"),  # checked code: races are looked for (racing.py), or NULL
    ("race_mask", "uint64_t"),  # and where: bits of conflicts.py; 0 if they are not
    ("race_blocks", "uint64_t *"),  # first address and bytes of the block of each word of the parameters; READ_*
    ("notes", "void *"),  # of what it accesses: NOTE_FIELDS, RACE_NOTES of them
    ("note_mask", "uint64_t"),  # the lanes whose they are; 0: they are not this warp's
    ("workspace", "uint64_t"),  # of a cooperative launch's barrier (executor.h), or 0
    ("first", "void *"),  # of a call for a whole block (fission.py): the warp that runs first
    ("following", "void *"),  # and the one after this, or NULL
    ("at", "void *"),  # the warp at work
    ("sums", "void *"),  # additions that the host thread gathers: SUMS_FIELDS
    ("group", "uint32_t"),  # how many warps such a call is for, or 0
    ("mask", "uint32_t"),  # the lanes that are there
    ("looks", "int32_t"),  # checked code: accesses to no block that is known as written, until one is asked about
)
"""What compiled code sees of struct gompy_warp (warp.h), with C's types: no gaps between them."""


def size_of(kind: str) -> int:
    """Bytes of a C type of WARP_FIELDS."""
    size = 8 if "*" in kind or "64" in kind else 4
    for count in kind.split("[")[1:]:
        size *= int(count[:-1])
    return size


def offsets(fields: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Where each field lies."""
    found, at = {}, 0
    for name, kind in fields:
        found[name] = at
        at += size_of(kind)
    return found


WARP = offsets(WARP_FIELDS)

SUMS_FIELDS = (
    ("code", "int32_t"),  # of all of them: ATOM_OPS and ATOM_TYPES
    ("used", "int32_t"),
    ("windowed", "uint64_t"),  # whether the window is in use: sums of the words at `low` to `low` + `limit`
    ("low", "uint64_t"),
    ("limit", "uint64_t"),
    ("window", "uint32_t[2048]"),
    ("table", "uint64_t[2048]"),  # SUM_PLACES times an address and what is to be added there; no address: 0
)
"""What compiled code sees of struct gompy_sums (sums.h): additions that memory has not seen yet."""
SUMS = offsets(SUMS_FIELDS)
SUM_PLACES, SUM_NEAR, SUM_FAR = 1024, 2, 12
"""Places of the table, a power of two.  An address's is told by its bits above SUM_NEAR and above SUM_FAR."""

NOTE_FIELDS = (
    ("line", "uint64_t"),  # its address; 0: the note is not in use
    ("key", "uint64_t"),  # of the place that accesses it: its unit's address + (its line << NOTE_SHIFT)
    ("bytes", "uint64_t[2]"),
)
"""What compiled code sees of struct gompy_note (races.h)."""
NOTE = offsets(NOTE_FIELDS)
NOTE_SIZE, NOTE_BYTES, NOTE_SHIFT = 192, 128, 47
"""Bytes of such a record, and of a line."""
RACE_NOTES = 1 << 10
"""How many there are, a power of two.  Which of them a place has for a line, compiled code says (racing.py)."""
FLAG_LINES = RACE_NOTES * NOTE_SIZE
"""Behind them 64 words, a bit for some lines of memory each (FLAG_LINE bytes): they may have what orders threads."""
FLAG_LINE = 128

OPS = (
    *("load1", "load2", "load4", "load8"),  # (warp, mask, u64 *address, void *out, unit, line)
    *("store1", "store2", "store4", "store8"),  # (warp, mask, u64 *address, void *value, unit, line)
    "load_uniform",  # u64 (warp, mask, address, bytes, unit, line)
    "store_uniform",  # (warp, mask, address, value, bytes, unit, line)
    "atom",  # (warp, mask, code, u64 *address, u64 *b, u64 *c, u64 *out, unit, line)
    "shuffle",  # (warp, mask, mode, u32 *a, u32 *b, u32 *c, u32 *out, u32 *in_range)
    "barrier",  # (warp, mask, kind, number, threads, unit, line)
    "trap",  # (warp, mask, reason, unit, line)
    "exit",  # (warp, mask)
    "call",  # (warp, mask, u64 *targets, args, version, unit, line)
    "lanes",  # (warp, mask, operation, u64 *a, u64 *b, u64 *c, u64 *out): what has no good vector code
    "yield",  # (warp)
    "clock",  # u64 (warp, which)
    "reduce",  # u32 (warp, mask, kind, number, threads, votes, unit, line)
    "misaligned",  # (warp, mask, u64 *address, bytes, unit, line): checked code only, as the next
    "warp_sync",  # (warp, mask, u32 *members, unit, line)
    "turns",  # u32 (warp, struct gompy_span *, how many spans, turns at most): which turns of a loop need no checks
    "turned",  # (warp, struct gompy_span *, how many spans, turns): they are done: what they have written is marked
    "race",  # (warp, mask, u64 *address, word, unit, line): where races are looked for, as the next; RACE_* in word
    "race_row",  # (warp, mask, u64 address of lane 0's, of lane 16's, word, unit, line): each half's in a row
    "race_row_soon",  # u32 (the same): 1 if that is soon done, else race_row is to be called; keeps all registers
    "race_shared_soon",  # u32 (warp, mask, u64 address of lane 0's, word, unit, line): a row of shared words
    "race_uniform",  # (warp, mask, u64 address, word, unit, line)
    "race_atom",  # (warp, mask, u64 *address, word, unit, line): before the operation, in code without other checks
    "race_fence",  # (warp, mask)
    "race_note",  # (warp, mask, u64 address, word, unit, line, note): as race_uniform, of what the note has not
    "race_come",  # (warp): to a barrier, where one call runs all warps of a block, as the next two
    "race_end",  # (warp)
    "race_meet",  # (warp 0, u8 *states or null, that of a warp that has ended): behind a barrier
    "matrix",  # (warp, mask, rows | depth << 8, types and way, a, b, c, out): mma (matrix.h)
    "texture",  # (warp, mask, dimensions and flags, u64 *handle, x y z, levels, out, unit, line): fetches.pxi
    "surface",  # (warp, mask, word, u64 *handle, u32 x y z, u64 data, unit, line): surface_bytes.pxi; SURFACE_* in word
    "query",  # (warp, mask, word, u64 *handle, u32 *level, u32 *out, unit, line): txq, suq; QUERY_* in word
    "spread",  # (warp, mask, word, a, metadata, out): mma.sp's a with its zeros (matrix.h); SPREAD_* in word
    "mbarrier",  # (warp, mask, step, u64 *address, u64 *value, u64 *state, u64 *answer, unit, line)
    "bulk",  # (warp, mask, u64 *to, u64 *from, u64 *bytes, u64 *mbarrier or null, u64 *bytes kept or null, unit, line)
)
OP_INDEX = {name: index for index, name in enumerate(OPS)}
WARP_ENDED = 255
"""`race_meet`: a warp's state when it is done; else the number of the barrier that it is at."""

ATOM_OPS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")
ATOM_TYPES = ("u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64")
"""`atom`'s code = operation * 8 + type; 0x100: 16-bit (cas.b16)."""
HALF_ATOMS = {"f16": 0x300, "bf16": 0x301, "f16x2": 0x200, "bf16x2": 0x201}
"""`atom`'s code for add.noftz on 16-bit floats."""

ATOM_UNUSED, ATOM_LATER = 0x400, 0x800
"""Added to `atom`'s code: its result is not used; an addition that may be seen later (sums.py)."""

LANE_OPS = ("udiv", "sdiv", "urem", "srem", "umulhi", "smulhi", "round")
"""`lanes`: operation in bits 0-7, bytes of an element in 8-11; for `round`: float operation in 16-23, mode in 24-27."""

FLOAT_LANE_OPS = (
    *("add", "sub", "mul", "div", "fma", "sqrt", "rcp", "cvt_s32", "cvt_u32", "cvt_s64", "cvt_u64", "cvt_f64"),
)

TEXTURE_LAYERED, TEXTURE_CUBE, TEXTURE_LEVEL, TEXTURE_GRADIENT, TEXTURE_GATHER, TEXTURE_COMPONENT = (
    8,
    16,
    32,
    64,
    128,
    8,
)
"""`texture`: dimensions in bits 0-1, 4: floats; flags; where the component begins that TEXTURE_GATHER reads."""
SURFACE_LAYERED, SURFACE_STORE, SURFACE_MODE, SURFACE_BYTES, SURFACE_COUNT = 4, 8, 4, 8, 12
"""`surface`: dimensions in bits 0-1, two flags; where a member of SURFACE_MODES, bytes of a component, and how many of
them there are begin."""
SURFACE_MODES = ("trap", "clamp", "zero")
"""What becomes of an access outside."""
SURFACE_REDUCE, SURFACE_SIGNED, SURFACE_FORMATTED = 16, 1 << 20, 1 << 21
"""`surface`: where 1 + a member of SURFACE_REDUCTIONS begins, 0: none; whether what it compares has a sign; sust.p and
sured.p: the first coordinate counts elements, and the surface's format says what the components are."""
SURFACE_REDUCTIONS = ("add", "min", "max", "and", "or")

QUERIES = (
    *("width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size"),
    *("num_mipmap_levels", "num_samples", "force_unnormalized_coords", "filter_mode"),
    *("addr_mode_0", "addr_mode_1", "addr_mode_2", "memory_layout"),
)
"""What txq and suq ask for."""
QUERY_SURFACE, QUERY_LEVEL = 64, 128
"""`query`: added to a member of QUERIES: it is of a surface, of a level."""

SPREAD_COLUMNS, SPREAD_DEEP, SPREAD_LANE = 4, 8, 24
"""`spread`: a member of MATRIX_TYPES in bits 0-3; where the columns of a chunk, the depth, and the first of each four
lanes that has metadata begin."""

MATRIX_TYPES = ("f16", "bf16", "tf32", "f64", "f32", "s32", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2")
"""`matrix`: of a in bits 0-3, b in 4-7, c in 8-11, the result in 12-15; a member of MATRIX_WAYS in 16-17.

Of m8n8k4 on .f16, 18: a is .col, 19: b is .row."""
MATRIX_WAYS = ("plain", "satfinite", "xor", "and")

TEXTURE_BYTES = 128
"""Of a texture's record in device memory (executor.h, struct ptx_texture), and so of a `.texref` variable."""

MBARRIER_STEPS = ("init", "inval", "expect_tx", "complete_tx", "arrive", "arrive_drop", "test", "test_parity")
MBARRIER_FIELDS = {"expected": (0, 20), "pending": (20, 20), "bytes": (40, 21), "phase": (63, 1)}
"""Of a barrier in shared memory: the first bit and how many; `bytes`, which are expected, has a sign."""

SHUFFLE_MODES = ("up", "down", "bfly", "idx")
BARRIER_KINDS = ("sync", "arrive", "cluster_arrive", "cluster_relaxed", "cluster_wait")
"""`barrier`: bar.sync, bar.arrive, and barrier.cluster's (a cluster is a block), which has CLUSTER_BARRIER's number."""
CLUSTER_BARRIER = 16
REDUCTIONS = ("popc", "and", "or")
RACE_PARAMS, RACE_VARIABLES, RACE_MIXED, RACE_ALWAYS = 60, 60, 61, 62
"""Bits of the warp's `race_mask`, and of the code's facts: see conflicts.py.  RACE_PARAMS: how many words of a kernel's
parameters have a bit, from bit 0 on."""
READ_LOW, READ_LAST, READ_LINES, READ_SINCE = range(2 * RACE_PARAMS, 2 * RACE_PARAMS + 4)
"""Words of `race_blocks` behind those of the parameters: first address of device memory, number of the line behind it,
address of what is known to be read of each line (race_read.h), and since when."""
RACE_WRITES, RACE_STRONG, RACE_GLOBAL, RACE_ACQUIRES, RACE_STRAYS, RACE_IN_STEP = 256, 512, 1024, 2048, 4096, 8192
"""`race`: added to the bytes, of a store, of an access that is volatile, relaxed, or orders others, of `.global`, of
one with acquire order, of one outside of its blocks (these two also of `race_atom`), of code for sm below 70."""
BARRIER_ALIGNED, BARRIER_PLACE = 16, 32
"""Added to the kind in checked code: all lanes of the warp must come to the barrier together; which of the function's
it is, a step of this each."""
TRAPS = ("trap", "local_memory", "not_uniform")
"""Reasons: the instruction; local memory is exhausted; what was called as uniform returned values that differ."""
VERSIONS = ("S", "V", "E", "W", "X")
"""Compiled forms: uniform.py's S, V, E, and V and E for warps that are not 32 threads of one row (W, X).

In files' names and requests each kind of code has letters of its own."""
CODE_KINDS = ("plain", "checked", "racing", "both")
PLAIN, CHECKED, RACING, BOTH = range(4)
"""Code as it is; with checks of each access (GOMPY_CHECK; checks.py); with those of races (racing.py); with both."""
FORM_LETTERS = ("SVEWX", "svewx", "12345", "67890")
"""Of each kind: the letters of the versions."""
FORMS = {letter: (VERSIONS[n], kind) for kind, letters in enumerate(FORM_LETTERS) for n, letter in enumerate(letters)}
"""Of each letter: the version and the kind."""

PAGE = 4096
MAGIC = b"GOMPYPTX"
KINDS = ("index", "code")
"""Of a cache file."""
SECTIONS = (
    *("strings", "links", "code", "text", "variables", "functions", "params", "relocs", "data", "locs", "files"),
    *("info", "refs"),
)
LINK_KINDS = ("unit", "symbol", "function", "host")
SPACES = ("global", "const", "shared")
LINKAGES = ("", "visible", "weak", "common", "extern")
BUILTINS = ("vprintf", "malloc", "free", "__assertfail")
"""Device functions that the executor has."""
HASHED_FROM = 32
"""Of a cache file: what `check` is of."""

RECORDS = {
    "file_section": "Q offset, Q bytes",
    "file_head": "8s magic, Q size, 16s check, 32s subject, I kind, I sections, I parts, I reserved",
    "link_record": "I kind, I name, I line, i reserved",
    "code_record": "I name, I version, Q offset, I whole, I aligned, Q writes, Q plain",
    "variable_record": (
        "I name, I space, I linkage, I line, Q size, Q align, Q data, Q data_bytes, "
        "I first_reloc, I relocs, I managed, I reserved"
    ),
    "function_record": (
        "I name, I entry, I linkage, I line, I last_line, I first_param, I params, I max_threads, "
        "Q param_bytes, Q local_bytes, I first_ref, I refs, I meets, I indirect, "
        "I alias, I reserved"
    ),
    "ref_record": "I name, I line, I taken",
    "param_record": "Q offset, Q size",
    "reloc_record": "Q offset, I name, I reserved, q addend",
    "loc_record": "I line, I file, I source_line",
    "file_record": "I number, I name",
    "info_record": "I version, I openmp, I entries, I architecture, I by_gcc, I library",
}
"""Records of cache files: each field's letter (module struct) and name.

file_head: `check` is the hash of what follows `HASHED_FROM`; `subject` that of the compiler's hash, the folder's and
the file's names; `parts` counts further files with code of the same object; the sections' table comes behind.
code_record: `writes` and `plain` are of a kernel whose races may be looked for (conflicts.py).
variable_record: `data` is the offset + 1, 0 for zeros.  ref_record: what a function names; `taken`: other than in order
to call it.  `meets`: the function may wait for other warps, or end its own (index.py); `indirect`: it calls what it
does not name; `alias`: the number + 1 of the object's function whose second name it is, 0 for functions.
info_record: the version is that of PTX * 10, the architecture that of .target (0: none); `by_gcc`: GCC has written it;
`library`: it is of a compiler's libraries.
"""


def layout(record: str) -> str:
    """A record's format, for struct.Struct."""
    return "<" + "".join(field.split(" ")[0] for field in RECORDS[record].split(", "))


ENUMERATIONS = {
    "KIND": KINDS,
    "SECTION": SECTIONS,
    "LINK": LINK_KINDS,
    "SPACE": SPACES,
    "LINKAGE": ("local", *LINKAGES[1:]),
    "BUILTIN": tuple(name.strip("_") for name in BUILTINS),
    "FORM": VERSIONS,
    "CODE": CODE_KINDS,
    "OP": OPS,
    "ATOM": ATOM_OPS,
    "ATOM_TYPE": ATOM_TYPES,
    "LANES": LANE_OPS,
    "ROUND": FLOAT_LANE_OPS,
    "SHUFFLE": SHUFFLE_MODES,
    "MATRIX": MATRIX_TYPES,
    "SURFACE_MODES": SURFACE_MODES,
    "SURFACE_REDUCTIONS": SURFACE_REDUCTIONS,
    "QUERY": QUERIES,
    "MATRIX_WAY": MATRIX_WAYS,
    "MBARRIER": MBARRIER_STEPS,
    "BARRIER": BARRIER_KINDS,
    "REDUCE": REDUCTIONS,
    "TRAP": TRAPS,
}
"""What the executor calls the members of these: PREFIX_MEMBER; their number is PREFIX_COUNT."""
