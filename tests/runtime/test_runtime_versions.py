"""Images as gcc 12, 13 and 14 register them, and plugins of the three versions of the interface, on hand-made programs.

No compiler of those releases is needed: what they pass is written out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_tools import REGISTERING, Run, build_plugin, compile_program, run

ONLY_IN_SOME = "OpenMP 'requires' directive with 'reverse_offload' specified only in some compilation units"
NEWER = (
    *("omp_get_mapped_ptr", "omp_target_memset", "omp_target_memset_async"),
    *("omp_get_uid_from_device", "omp_get_device_from_uid"),
)
"""What GCC 12's libgomp lacks, which the programs are linked with."""
PROGRAM = (
    "WEAK\n#include <omp.h>"
    + REGISTERING
    + """
extern void GOMP_target_update_ext (int, size_t, void **, size_t *, unsigned short *, unsigned, void **);
int icvs[4] = {-1, -1, -1, -1}, other;
#ifndef REGION
#define REGION args[0]
#endif
int result;
static void region (void **args) { int *out = REGION; if (out != &result) *out = 500 + icvs[0]; }
#ifndef HOST
#define HOST *(int *) args[0] = -1
#endif
static void host_region (void **args) { HOST; }
static void indirect (void) {}
struct pair pairs[2];
struct masked { uintptr_t mask; struct image image; } masked = {MASK, {pairs, 2}}, second = {SECOND, {pairs, 2}};
void *funcs[1] = {host_region}, *ind[1] = {indirect};
void *table[6] = {funcs, funcs + 1, 0, 0, ind, ind + NIND};
#define DATA(M) (VERSION >> 16 >= 2 ? (void *) &M : (void *) &M.image)
__attribute__ ((constructor)) static void reg (void) {
  pairs[0] = (struct pair) {(uintptr_t) region, (uintptr_t) region + 1};
  pairs[1] = (struct pair) {(uintptr_t) icvs, (uintptr_t) icvs + ICVS};
  GOMP_offload_register_ver (VERSION, table, 6, DATA (masked));
}
__attribute__ ((destructor)) static void unreg (void)
{ GOMP_offload_unregister_ver (VERSION, table, 6, DATA (masked)); }
static int go (int device, void **args) {
  int out = 0;
  void *addr[1] = {&out}; size_t size[1] = {sizeof out}; unsigned short kind[1] = {0x203};
  GOMP_target_ext (device, (void (*) (void *)) host_region, 1, addr, size, kind, 0, 0, args);
  return out;
}
static void update (int kind) {
  void *addr[1] = {&other}; size_t size[1] = {sizeof other}; unsigned short kinds[1] = {kind};
  GOMP_target_update_ext (-1, 1, addr, size, kinds, 0, 0);
}
int main (void) { MAIN; return 0; }
"""
)
LIFE = """
printf ("%d %d\\n", go (-1, 0), go (0, 0));
printf ("%d %d %d %d\\n", icvs[0], icvs[1], icvs[2], icvs[3]);
GOMP_offload_unregister_ver (VERSION, table, 6, DATA (masked));
printf ("%d\\n", go (0, 0));
GOMP_offload_register_ver (VERSION, table, 6, DATA (masked));
printf ("%d\\n", go (0, 0))
"""
DEFAULTS = {"VERSION": "0x30000", "MASK": "0x200", "SECOND": "0x200", "NIND": "0", "ICVS": "16"}


def go(folder: Path, body: str, plugin: tuple[str, ...] = (), env: dict[str, str] | None = None, **defines: str) -> Run:
    """Build and run the program with that main function."""
    build_plugin(folder, "-DCAPS=4", *plugin)
    source = PROGRAM.replace("MAIN;", body + ";").replace("WEAK", "\n".join(f"#pragma weak {name}" for name in NEWER))
    words = [f"-D{name}={value}" for name, value in (DEFAULTS | defines).items()]
    words.append("-Wl,-z,dynamic-undefined-weak")
    return run(folder, compile_program(folder, source, *words), **(env or {}))


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize("plugin", [1, 2, 3])
@pytest.mark.parametrize(("version", "icvs"), [("0x0", "4"), ("0x10000", "4"), ("0x20000", "16"), ("0x30000", "16")])
def test_image_life(tmp_path: Path, version: str, icvs: str, plugin: int) -> None:
    """With the mask in front or without, with the device's number or its ICVs; unloaded, and loaded again."""
    done = go(tmp_path, LIFE, (f"-DVERSION={plugin}",), {"OMP_NUM_TEAMS_DEV_0": "7"}, VERSION=version, ICVS=icvs)
    words = "0 0 7 0" if icvs == "16" else "0 -1 -1 -1"
    assert (done.rc, done.out) == (0, f"500 500\n{words}\n-1\n500\n"), done.err
    assert f"load 0 version {version}" in done.log
    assert done.log.count("asked 0x0") == (plugin >= 2)
    assert done.log.count("reverse 0") == 2 * (plugin >= 2)
    assert done.log.count("indirect 0x0") == 2 * (plugin >= 3)


def test_indirect_functions_go_to_the_plugin(tmp_path: Path) -> None:
    """The host's table, where the program has such functions and registers as GCC 14 does."""
    done = go(tmp_path, 'printf ("0x%lx\\n", (long) indirect); go (0, 0)', ("-DVERSION=3",), NIND="1")
    assert done.rc == 0
    assert f"indirect {done.out.strip()}" in done.log
    older = go(tmp_path, "go (0, 0)", ("-DVERSION=3",), NIND="1", VERSION="0x20000")
    assert "indirect 0x0" in older.log


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("plugin", [1, 3])
@pytest.mark.parametrize(
    ("mask", "clauses"),
    [
        ("0x210", "unified_address"),
        ("0x280", "reverse_offload"),
        ("0x2b0", "unified_address, unified_shared_mem"),
    ],
)
def test_what_a_device_does_not_fulfil_keeps_it_away(tmp_path: Path, mask: str, clauses: str, plugin: int) -> None:
    """Its regions never run on it: on the host, or not at all; and it is said."""
    body = 'printf ("%d %d\\n", omp_get_num_devices (), go (-1, 0))'
    done = go(tmp_path, body, (f"-DVERSION={plugin}",), MASK=mask)
    assert (done.rc, done.out) == (0, "0 -1\n")
    assert f"libgompy: 1 device of plugin fake cannot be used: 'omp requires {clauses}" in done.err
    assert done.calls("init") == 0
    done = go(tmp_path, body, (f"-DVERSION={plugin}",), {"OMP_TARGET_OFFLOAD": "mandatory"}, MASK=mask)
    assert done.rc == 1 and "MANDATORY, but device not found" in done.err
    assert f"no device of plugin fake: its devices do not fulfil 'omp requires {clauses}" in done.err


def test_a_plugin_is_asked(tmp_path: Path) -> None:
    """From version 2 on it says itself that it cannot."""
    done = go(tmp_path, 'printf ("%d\\n", go (-1, 0))', ("-DVERSION=2", "-DREFUSES=0x10"), MASK="0x210")
    assert (done.rc, done.out) == (0, "-1\n")
    assert "asked 0x10" in done.log and done.calls("init") == 0


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (
            "0x210",
            "0x280",
            "OpenMP 'requires' directive with non-identical clauses in multiple compilation units: "
            "'unified_address' vs. 'reverse_offload'",
        ),
        ("0x200", "0x280", ONLY_IN_SOME),
        ("0x280", "0x200", ONLY_IN_SOME),
    ],
)
def test_images_must_require_the_same(tmp_path: Path, one: str, other: str, message: str) -> None:
    body = "GOMP_offload_register_ver (VERSION, table, 6, DATA (second))"
    done = go(tmp_path, body, MASK=one, SECOND=other)
    assert done.rc == 1 and f"\nlibgomp: {message}\n" in done.err
    done = go(tmp_path, body + '; puts ("on")', MASK=one, SECOND="0")
    assert (done.rc, done.out) == (0, "on\n")  # a library without target constructs


def test_one_team_without_teams(tmp_path: Path) -> None:
    """NUM_TEAMS -2 is no number for plugins; others, and the program's own array, are left alone."""
    body = """
void *args[] = {(void *) (-2l << 16 | 0x100), (void *) (3l << 16 | 0x200), 0};
void *teams[] = {(void *) (5l << 16 | 0x100), 0};
void *long_form[] = {(void *) 0x180l, (void *) -2l, 0};
go (0, args); go (0, teams); go (0, long_form);
printf ("%lx\\n", (long) args[0])
"""
    done = go(tmp_path, body)
    assert (done.rc, done.out) == (0, "fffffffffffe0100\n")
    words = [line.partition(" args ")[2] for line in done.log if line.startswith("run")]
    assert words[:2] == ["0x10100 0x30200", "0x50100 0"], done.log


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize(
    ("number", "version", "out"),
    [
        ("-1", "0x30000", "500"),
        ("-2", "0x30000", "-1"),
        ("-3", "0x30000", "-1"),
        ("-5", "0x30000", "500"),
        ("-4", "0x30000", None),
        ("-4", "0x20000", None),
        ("-4", "0x10000", "-1"),
    ],
)
def test_device_numbers(tmp_path: Path, number: str, version: str, out: str | None) -> None:
    """As GCC 13 and later pass them: -4 is omp_invalid_device; to GCC 12 it was a number like others."""
    icvs = "4" if version == "0x10000" else "16"
    done = go(tmp_path, f'printf ("%d\\n", go ({number}, 0))', VERSION=version, ICVS=icvs)
    if out is None:
        assert done.rc == 1 and "libgomp: omp_invalid_device encountered" in done.err
    else:
        assert (done.rc, done.out) == (0, out + "\n"), done.err


def test_device_numbers_of_routines(tmp_path: Path) -> None:
    """omp_initial_device is the host; omp_invalid_device ends the program."""
    body = 'void *p = omp_target_alloc (4, -1); *(int *) p = 1; omp_target_free (p, -1); puts ("on"); fflush (stdout);'
    done = go(tmp_path, body + "omp_target_alloc (4, -4)")
    assert (done.rc, done.out) == (1, "on\n")
    assert "libgomp: omp_invalid_device encountered" in done.err


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("kind", ["0x95", "0x96", "0x97"])
def test_update_of_what_must_be_present(tmp_path: Path, kind: str) -> None:
    """A message in GCC 14's words where it is not; else as without the word."""
    done = go(tmp_path, f"update (0x200 | {kind})")
    assert done.rc == 1
    assert "libgomp: present clause: not present on the device (addr: 0x" in done.err
    assert ", size: 4 (0x4), dev: 0)" in done.err
    body = f"""
other = 1;
#pragma omp target enter data map(to: other)
other = 2; update (0x200 | {kind});
#pragma omp target exit data map(from: other)
printf ("%d\\n", other)
"""
    done = go(tmp_path, body)
    assert (done.rc, done.out) == (0, {"0x95": "2\n", "0x96": "1\n", "0x97": "2\n"}[kind]), done.err


ITERATORS = """
int a[4] = {1, 2, 3, 4}, b[2] = {5, 6}, back = 0, *q = a + 1;
uintptr_t items[5] = {2, (uintptr_t) &a[1], 4, (uintptr_t) b, 8};
void *addr[1] = {items}; size_t size[1] = {-1ul}; unsigned short kind[1] = {KIND};
GOMP_target_enter_exit_data (0, 1, addr, size, kind, 0, 0);
printf ("%d%d%d ", omp_target_is_present (&a[1], 0), omp_target_is_present (b, 0), omp_target_is_present (&a[2], 0));
a[1] = 20; b[1] = 60; kind[0] = 0x201;
GOMP_target_update_ext (0, 1, addr, size, kind, 0, 0);
int *d = omp_get_mapped_ptr (b, 0), *e = omp_get_mapped_ptr (&a[1], 0);
printf ("%d %d ", e[0], d[1]);
kind[0] = 0x217;
GOMP_target_enter_exit_data (0, 1, addr, size, kind, 2, 0);
printf ("%d%d\\n", omp_target_is_present (&a[1], 0), omp_target_is_present (b, 0))
"""
WORDS = """
int a = 1, b = 2, c = 3;
uintptr_t items[5] = {2, (uintptr_t) &a, 4, (uintptr_t) &b, 4};
void *addr[2] = {items, &c}; size_t size[2] = {-1ul, 4}; unsigned short kind[2] = {0x203, 0x203};
GOMP_target_ext (0, (void (*) (void *)) host_region, 2, addr, size, kind, 0, 0, 0);
printf ("%d %d %d\\n", a, b, c)
"""


def test_iterators_in_map_clauses(tmp_path: Path) -> None:
    """GCC 16 passes an array of addresses and sizes as one entry; the region's array has one word for it."""
    more = (
        "extern void GOMP_target_enter_exit_data (int, size_t, void **, size_t *, unsigned short *, unsigned, void **);"
    )
    more += " extern void *omp_get_mapped_ptr (const void *, int)"
    done = go(tmp_path, f"{more}; {ITERATORS}", KIND="0x201")
    assert (done.rc, done.out) == (0, "110 20 60 00\n"), done.err
    done = go(tmp_path, f"{WORDS}", REGION="args[1]")
    assert (done.rc, done.out) == (0, "1 2 500\n"), done.err


def test_routines_of_openmp_6(tmp_path: Path) -> None:
    """omp_target_memset, on host and device, now and as a task; unique names of devices, there and back."""
    body = """
    extern void *omp_target_memset (void *, int, size_t, int);
    extern void *omp_target_memset_async (void *, int, size_t, int, int, void *);
    extern const char *omp_get_uid_from_device (int); extern int omp_get_device_from_uid (const char *);
    char *d = omp_target_alloc (200000, 0), h[3] = {0};
    printf ("%d ", omp_target_memset (d, 7, 200000, 0) == d && omp_target_memset (h, 8, 2, 1) == h);
    printf ("%d %d %d ", d[0], d[199999], h[0] + h[1] + h[2]);
    omp_target_memset_async (d, 9, 10, 0, 0, NULL);
    printf ("%d %d\\n", d[9], d[10]);
    printf ("%s %s ", omp_get_uid_from_device (0), omp_get_uid_from_device (1));
    printf ("%d %d ", omp_get_uid_from_device (2) == NULL, omp_get_device_from_uid (omp_get_uid_from_device (0)));
    printf ("%d %d\\n", omp_get_device_from_uid ("OMP_INITIAL_DEVICE"), omp_get_device_from_uid ("?"))
    """
    done = go(tmp_path, body.replace("\n", " "))
    assert (done.rc, done.out) == (0, "1 7 7 16 9 7\nOMP_DEV_0 OMP_INITIAL_DEVICE 1 0 -1 -4\n"), done.err


EMPTY = """
struct { int n, *p; } s = {0, 0}; int data[3] = {1, 2, 3}; s.p = data;
void *addr[4] = {&s, &s.p, data, &s.p}; size_t size[4] = {1, 0, 12, 0};
unsigned short kind[4] = {0x35c, 0x30f, 0x203, 0x350};
GOMP_target_enter_exit_data (0, 4, addr, size, kind, 0, 0);
printf ("%d %d ", omp_target_is_present (&s, 0), omp_target_is_present (data, 0));
void *whole[1] = {&s}; size_t bytes[1] = {sizeof s}; unsigned short to[1] = {0x301};
GOMP_target_enter_exit_data (0, 1, whole, bytes, to, 0, 0);
GOMP_target_enter_exit_data (0, 4, addr, size, kind, 0, 0);
printf ("%d\\n", ((int **) omp_get_mapped_ptr (&s.p, 0))[0] == omp_get_mapped_ptr (data, 0))
"""


def test_pointers_that_only_count(tmp_path: Path) -> None:
    """enter data of a section through a struct's pointer: GCC 14 lists the pointer with size 0; it is attached if it is
    there."""
    more = (
        "extern void GOMP_target_enter_exit_data (int, size_t, void **, size_t *, unsigned short *, unsigned, void **);"
    )
    more += " extern void *omp_get_mapped_ptr (const void *, int)"
    done = go(tmp_path, f"{more}; {EMPTY}")
    assert (done.rc, done.out) == (0, "0 1 1\n"), done.err


def test_members_in_the_order_of_the_program(tmp_path: Path) -> None:
    """STRUCT_UNORD: rising addresses, and the same one twice, are a struct; falling ones are refused."""
    body = """
    int s[4] = {1, 2, 3, 4};
    void *addr[4] = {s, &s[FIRST], &s[1], &s[1]}; size_t size[4] = {3, 4, 4, 4};
    unsigned short kind[4] = {0x25c, 0x203, 0x203, 0x203};
    GOMP_target_ext (0, (void (*) (void *)) host_region, 4, addr, size, kind, 0, 0, 0);
    printf ("%d\\n", s[1])
    """.replace("\n", " ")
    done = go(tmp_path, body, FIRST="0", REGION="args[2]")
    assert (done.rc, done.out) == (0, "500\n"), done.err
    done = go(tmp_path, body, FIRST="2", REGION="args[2]")
    assert done.rc == 1 and "Mapped array elements must be the same or in increasing address order" in done.err


def test_descriptors_of_private_arrays(tmp_path: Path) -> None:
    """Fortran's firstprivate of an allocatable: the copy of the descriptor points to the copy of the data (GCC 13)."""
    body = """
    int data[2] = {41, 42}; struct { long n; int *p; } descriptor = {2, data};
    void *addr[3]; size_t size[3] = {sizeof descriptor, 8, 8}; unsigned short kind[3] = {0x30c, 0x20c, 0x350};
    addr[0] = &descriptor; addr[1] = data; addr[2] = &addr[0];
    GOMP_target_ext (0, (void (*) (void *)) host_region, 3, addr, size, kind, 0, 0, 0);
    printf ("%d %d %d\\n", result, data[0], descriptor.p == data)
    """.replace("\n", " ")
    done = go(
        tmp_path, body, REGION="&result; result = ((int **) args[0])[1] == (int *) args[1] ? (*(int *) args[1])++ : -1"
    )
    assert (done.rc, done.out) == (0, "41 41 1\n"), done.err


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("device", [-2, 0])
@pytest.mark.parametrize("flags", [0, 1])
def test_descriptors_of_private_arrays_elsewhere(tmp_path: Path, device: int, flags: int) -> None:
    """The same where the region runs on the host, or later: the list of addresses is gone by then."""
    body = f"""
    int data[2] = {{41, 42}}; struct {{ long n; int *p; }} descriptor = {{2, data}};
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {{ {{
      void *addr[3]; size_t size[3] = {{sizeof descriptor, 8, 8}}; unsigned short kind[3] = {{0x30c, 0x20c, 0x350}};
      addr[0] = &descriptor; addr[1] = data; addr[2] = &addr[0];
      GOMP_target_ext ({device}, (void (*) (void *)) host_region, 3, addr, size, kind, {flags}, 0, 0);
      addr[0] = addr[1] = addr[2] = 0; data[0] += 10; descriptor.p = 0;
    }}
    #pragma omp taskwait
    }}
    printf ("%d %d\\n", result, data[0])
    """
    word = "((int **) args[0])[1] == (int *) args[1] ? (*(int *) args[1])++ : -1"
    done = go(
        tmp_path,
        body,
        REGION=f"&result; result = {word}",
        HOST=f"result = {word}",
    )
    assert (done.rc, done.out) == (0, "41 51\n"), done.err
