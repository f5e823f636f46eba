"""What OpenACC programs of GCC 13 and newer rely on, on the emulated device; older compilers can call it by hand."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from test_openacc_programs import build, output, run

if not PLUGIN.exists() or not (Path(sys.executable).parent / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

SELF = """
#include <openacc.h>
#include <stdio.h>
extern void GOACC_parallel_keyed (int, void (*) (void *), unsigned long, void **, unsigned long *,
                                  unsigned short *, ...);
static int where;
static void region (void *unused) { where = acc_on_device (acc_device_host); }
int main (void)
{
  int device = 0;
#pragma acc serial copyout (device)
  device = acc_on_device (acc_device_not_host);
  GOACC_parallel_keyed (~2, region, 0, NULL, NULL, NULL, 0);  // self(1), as gcc 14 writes it
  printf ("%d %d %d\\n", device, where, acc_get_device_type () == acc_device_host);
}
"""


def test_a_self_clause_keeps_the_region_on_the_host(tmp_path: Path) -> None:
    """It is the host's there, and no device's function is looked for."""
    assert output(tmp_path, SELF) == "1 1 0\n"


SELF_DATA = """
#include <stdio.h>
extern void GOACC_data_start (int, unsigned long, void **, unsigned long *, unsigned short *);
extern void GOACC_data_end (void);
int main (void)
{
  int a = 1, device = 0;
  void *addresses[1] = {&a};
  unsigned long sizes[1] = {sizeof a};
  unsigned short kinds[1] = {0x203};
#pragma acc serial copyout (device)
  device = 1;
  GOACC_data_start (~2, 1, addresses, sizes, kinds);  // that of a kernels construct with self, which gcc takes apart
  a = 2;
  GOACC_data_end ();
  printf ("%d %d\\n", device, a);
}
"""


def test_the_data_of_a_region_with_self_stays_there(tmp_path: Path) -> None:
    """Nothing is copied over what the region has written on the host."""
    assert output(tmp_path, SELF_DATA) == "1 2\n"


MODULE = """
module m
  implicit none
  integer, allocatable :: a(:)
  !$acc declare create(a)
contains
  subroutine last (n, s)
    !$acc routine seq
    integer, intent(in) :: n
    integer, intent(out) :: s
    s = 0
    if (allocated (a)) s = a(n) + 1000 * lbound (a, 1)
    a(n) = 7
  end subroutine
end module
program p
  use m
  implicit none
  integer :: s, k
  do k = 1, 2
    allocate (a(k + 2:10))
    !$acc enter data create(a)
    a = 5 * k
    !$acc update device(a)
    a = 0
    !$acc serial copyout(s)
    call last (10, s)
    !$acc end serial
    !$acc update self(a)
    print '(3i6)', s, a(9), a(10)
    !$acc exit data delete(a)
    deallocate (a)
  end do
end program
"""


def test_an_allocatable_of_declare_create_is_found_after_enter_data(tmp_path: Path) -> None:
    """The device's descriptor gets bounds and address, each time that another piece of memory is entered."""
    assert output(tmp_path, MODULE, name="prog.f90") == "  3005     5     7\n  4010    10     7\n"


UNMAP = """
#include <openacc.h>
int v[16];
#pragma acc declare create (v)
int main (void)
{
  acc_init (acc_device_default);
  acc_unmap_data (v);
}
"""


@pytest.mark.parametrize(
    ("compiler", "words"),
    [("gcc-12", "cannot unmap target block"), ("gcc-14", "+64] that has not been mapped by 'acc_map_data'")],
)
def test_a_variable_of_the_program_is_not_unmapped(
    tmp_path: Path, compiler: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is told in the words of the release that the program is of."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("GOMPY_CC", compiler)
    done = run(build(tmp_path, UNMAP))
    assert done.returncode == 1 and words in done.stderr, done.stderr


def test_the_trace_names_the_call(tmp_path: Path) -> None:
    """GOMP_DEBUG has the name that the documentation of GOMP_DEBUG looks for."""
    done = run(build(tmp_path, SELF), GOMP_DEBUG="1")
    assert "GOACC_parallel_keyed: 1 entries" in done.stderr and "launched" in done.stderr
