"""Regions on the host: the same thread state, ICVs and results as with the stock libgomp, and the reason is kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from runtime_tools import build_plugin, compile_program, run

STATE = """
#include <omp.h>
#include <stdio.h>
#include <string.h>
static void show (const char *where) {
  omp_sched_t kind; int chunk;
  omp_get_schedule (&kind, &chunk);
  printf ("%s: level %d of %d threads, thread %d, team %d of %d, max %d dyn %d levels %d limit %d sched %d,%d"
          " default %d final %d dev %d\\n", where, omp_get_level (), omp_get_num_threads (), omp_get_thread_num (),
          omp_get_team_num (), omp_get_num_teams (), omp_get_max_threads (), omp_get_dynamic (),
          omp_get_max_active_levels (), omp_get_thread_limit (), (int) kind, chunk, omp_get_default_device (),
          omp_in_final (), omp_is_initial_device ());
}
static void region (const char *where) {
  char name[40];
  strcpy (name, where);
  #pragma omp target firstprivate(name)
  {
    show (name);
    #pragma omp parallel num_threads(2)
    #pragma omp master
    show ("  parallel inside");
    omp_set_num_threads (7);
    omp_set_schedule (omp_sched_guided, 5);
    #pragma omp target
    show ("  target inside");
  }
}
int main (void) {
  region ("plain");
  show ("after");
  #pragma omp target teams num_teams(2) thread_limit(3)
  { if (omp_get_team_num () == 1) show ("second team"); }
  show ("after");
  #pragma omp target thread_limit(2)
  show ("thread limit");
  #pragma omp parallel num_threads(2)
  {
    #pragma omp master
    region ("in parallel");
  }
  #pragma omp teams num_teams(2)
  { if (omp_get_team_num () == 1) region ("in host teams"); }
  #pragma omp task final(1)
  region ("in final task");
  omp_set_num_threads (3);
  omp_set_dynamic (1);
  region ("after ICVs were set");
  show ("at the end");
  return 0;
}
"""


ENVIRONMENTS = [{}, {"OMP_THREAD_LIMIT": "5", "OMP_SCHEDULE": "dynamic,3", "OMP_DEFAULT_DEVICE": "2"}]


@pytest.mark.parametrize("extra", ENVIRONMENTS)
def test_thread_state_is_the_stock_one(tmp_path: Path, extra: dict[str, str]) -> None:
    program = compile_program(tmp_path, STATE)
    ours = run(tmp_path, program, plugins="", **extra)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP"))} | {"OMP_NUM_THREADS": "2"} | extra
    stock = subprocess.run([str(program)], env=env, capture_output=True, text=True)
    assert ours.rc == stock.returncode == 0
    assert ours.out == stock.stdout
    assert "regions: 12 on the host: there is no device" in ours.err


CHOICES = """
#include <omp.h>
#include <stdio.h>
int main (int argc, char **argv) {
  int where[5] = {-1, -1, -1, -1, -1};
  #pragma omp target map(from: where[0:1])
  where[0] = 0;
  #pragma omp target if(argc > 5)
  where[1] = omp_is_initial_device ();
  #pragma omp target device(omp_get_initial_device ())
  where[2] = omp_is_initial_device ();
  #pragma omp target device(77)
  where[3] = omp_is_initial_device ();
  printf ("%d%d%d%d\\n", where[0], where[1], where[2], where[3]);
  return 0;
}
"""


def test_who_asks_for_the_host_gets_it(tmp_path: Path) -> None:
    build_plugin(tmp_path)
    done = run(tmp_path, compile_program(tmp_path, CHOICES))
    assert done.out == "0111\n"
    assert done.stats == (
        "regions: 1 on device 0 (fake), 3 on the host: "
        "the host was asked for (if clause, or number of the initial device)"
    )


BEYOND = """
#include <omp.h>
int main (void) {
  int on_host = 0;
  #pragma omp target device(omp_get_num_devices ()) map(tofrom: on_host)
  on_host = omp_is_initial_device ();
  return !on_host;
}
"""


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        (0, "there is no device"),
        (1, "number 1 is the host: the only device is number 0"),
        (3, "number 3 is the host: the devices are 0 to 2"),
    ],
)
def test_a_number_behind_the_devices(tmp_path: Path, devices: int, reason: str) -> None:
    """It is the host's (omp_get_initial_device), though the user may have meant a device."""
    build_plugin(tmp_path, f"-DNDEV={devices}")
    done = run(tmp_path, compile_program(tmp_path, BEYOND))
    assert done.rc == 0 and done.stats.endswith(f" 1 on the host: {reason}")


def test_disabled(tmp_path: Path) -> None:
    build_plugin(tmp_path)
    done = run(tmp_path, compile_program(tmp_path, CHOICES), OMP_TARGET_OFFLOAD=" Disabled ")
    assert (done.rc, done.log) == (0, []), "no plugin is loaded"
    assert done.stats == "regions: 4 on the host: OMP_TARGET_OFFLOAD is disabled"


def test_mandatory_without_a_device_says_why(tmp_path: Path) -> None:
    build_plugin(tmp_path, "-DNDEV=0")
    program = compile_program(tmp_path, CHOICES)
    done = run(tmp_path, program, OMP_TARGET_OFFLOAD="MANDATORY")
    assert done.rc == 1
    assert "libgompy: no device of plugin fake: it finds no device\n" in done.err
    assert "\nlibgomp: OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found\n" in done.err
    missing = run(tmp_path, program, plugins="nowhere", OMP_TARGET_OFFLOAD="mandatory")
    assert missing.rc == 1
    assert "no device of plugin nowhere: libgomp-plugin-nowhere.so.1: cannot open shared object" in missing.err


def test_mandatory_with_a_device(tmp_path: Path) -> None:
    build_plugin(tmp_path)
    done = run(tmp_path, compile_program(tmp_path, CHOICES), OMP_TARGET_OFFLOAD="mandatory")
    assert done.rc == 1
    assert "MANDATORY, but device not found" in done.err, "of device(77); the other regions are fine"


def test_mandatory_and_a_region_that_the_device_cannot_run(tmp_path: Path) -> None:
    build_plugin(tmp_path, "-DCAN_RUN")
    done = run(tmp_path, compile_program(tmp_path, CHOICES), OMP_TARGET_OFFLOAD="mandatory")
    assert done.rc == 1
    assert "libgompy: the device cannot run the region\n" in done.err
    assert "MANDATORY, but device cannot be used for offloading" in done.err


def test_region_without_device_code(tmp_path: Path) -> None:
    """A device that needs images, a program without any."""
    build_plugin(tmp_path, "-DCAPS=4")
    done = run(tmp_path, compile_program(tmp_path, CHOICES))
    assert (done.rc, done.out) == (0, "0111\n")
    assert "4 on the host: no image for the device has the region's code" in done.stats


def test_shared_memory_device(tmp_path: Path) -> None:
    """SHARED_MEM: no maps, firstprivate copied, the host's own address array."""
    build_plugin(tmp_path, "-DCAPS=(4|2|1)")
    program = compile_program(
        tmp_path,
        """
int main (void) {
  struct { int a[20]; } s = {{1}}; int out = 0;
  #pragma omp target data map(to: out)
  #pragma omp target firstprivate(s) map(from: out)
  { out = s.a[0] + 4; s.a[0] = 9; }
  return !(out == 5 && s.a[0] == 1);
}""",
    )
    done = run(tmp_path, program)
    assert (done.rc, done.stats) == (0, "regions: 1 on device 0 (fake), 0 on the host")
    assert done.calls("alloc") == 0


def test_stats_file(tmp_path: Path) -> None:
    program = compile_program(tmp_path, CHOICES)
    for _ in range(2):
        run(tmp_path, program, plugins="", GOMPY_STATS=str(tmp_path / "stats"))
    assert (tmp_path / "stats").read_text() == "libgompy: regions: 4 on the host: there is no device\n" * 2
