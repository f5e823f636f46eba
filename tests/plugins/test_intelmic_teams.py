"""Teams of a region on the emulated device: at the same time, with the right numbers, threads and sums."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN, devices_of, gone
from test_intelmic_programs import BIN, build

if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

SOURCE = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now (void)
{ struct timespec t; clock_gettime (CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
/* What a teams construct may not have directly inside it.  */
static void bump (int *p) { __atomic_fetch_add (p, 1, __ATOMIC_RELAXED); }
static int level (void) { return omp_get_level (); }
static int threads_now (void) { return omp_get_max_threads (); }
static int limit_now (void) { return omp_get_thread_limit (); }
static void nest (int levels) { omp_set_max_active_levels (levels); }
#pragma omp declare target to (now, bump, level, threads_now, limit_now, nest)

/* Each team's number once, the count in all. */
static void numbers (int n)
{
  int seen[200] = { 0 }, wrong = 0;
#pragma omp target teams num_teams (n) map (tofrom: seen, wrong)
  {
    int me = omp_get_team_num ();
    bump (&seen[me]);
    if (omp_get_num_teams () != n || level () != 0)
        bump (&wrong);
#pragma omp parallel num_threads (2) if (me < 4)
    if (omp_get_team_num () != me || omp_get_num_teams () != n)
        bump (&wrong);
  }
  for (int i = 0; i < n; i++)
    wrong += seen[i] != 1;
  printf ("%d\n", wrong);
}

/* n teams wait for each other: with fewer at a time, nobody comes and the time is over. */
static void meet_within (int n, double seconds)
{
  int here = 0, met = 0;
#pragma omp target teams num_teams (n) map (tofrom: here, met) firstprivate (seconds)
  {
    double end = now () + seconds;
    int seen;
    bump (&here);
    do
      {
        usleep (100);
        seen = __atomic_load_n (&here, __ATOMIC_RELAXED);
      }
    while (seen < n && now () < end);
    if (seen == n)
        bump (&met);
  }
  printf ("%d\n", met);
}

static void meet (int n) { meet_within (n, 50); }
static void in_vain (int n) { meet_within (n, 1); }

/* Numbers that the device chooses: teams, threads, limit; teams of a range; number of threads in fact. */
static void chosen (int n)
{
  int teams = 0, threads = 0, limit = 0, range = 0, real = 0, count = 0;
#pragma omp target teams map (from: teams, threads, limit, real) map (tofrom: count)
  {
    if (omp_get_team_num () == omp_get_num_teams () - 1)
      {
        teams = omp_get_num_teams ();
        threads = threads_now ();
        limit = limit_now ();
#pragma omp parallel
#pragma omp master
        real = omp_get_num_threads ();
      }
    bump (&count);
  }
#pragma omp target teams num_teams (2 : n) map (from: range)
  if (omp_get_team_num () == 0)
    range = omp_get_num_teams ();
  printf ("teams %d threads %d limit %d range %d\n", teams, threads, limit == 0x7fffffff ? 0 : limit, range);
  if (count != teams || real > threads)
    printf ("count %d, threads in fact %d\n", count, real);
}

static void sums (int n)
{
  long s = 0, t = 1; int most = -1; double d = 0; long array[5] = { 0 };
  int *a = malloc (n * sizeof *a);
#pragma omp target teams distribute parallel for map (from: a[:n])
  for (int i = 0; i < n; i++)
    a[i] = i;
#pragma omp target teams distribute parallel for num_teams (7) map (to: a[:n]) reduction (+: s)
  for (int i = 0; i < n; i++)
    s += a[i];
#pragma omp target teams distribute parallel for simd num_teams (3) thread_limit (2) map (to: a[:n]) \
  map (tofrom: most, d) reduction (max: most) reduction (+: d)
  for (int i = 0; i < n; i++)
    {
      if (a[i] > most)
        most = a[i];
      d += 0.5;
    }
#pragma omp target teams num_teams (5) reduction (+: array) reduction (*: t) map (tofrom: array, t)
  {
    for (int i = 0; i < 5; i++)
      array[i] += omp_get_team_num () + i;
    t *= 2;
  }
  long wrong = 0;
#pragma omp target teams distribute dist_schedule (static, 3) num_teams (4) map (tofrom: a[:n])
  for (int i = 0; i < n; i++)
    {
#pragma omp parallel for
      for (int j = 0; j < 3; j++)
#pragma omp atomic
        a[i] += j;
    }
  for (int i = 0; i < n; i++)
    wrong += a[i] != i + 3;
  printf ("%ld %d %g %ld %ld %ld %ld\n", s, most, d, array[0], array[4], t, wrong);
}

static void limits (int n)
{
  int wrong = 0, most = 0, deep = 0;
#pragma omp target teams num_teams (n) thread_limit (2) map (tofrom: wrong, most)
  {
    if (limit_now () != 2)
        bump (&wrong);
#pragma omp parallel num_threads (8)
#pragma omp master
    {
#pragma omp atomic
      wrong += omp_get_num_threads () > 2;
#pragma omp atomic
      most += omp_get_num_threads ();
    }
  }
#pragma omp target teams num_teams (n) map (tofrom: deep, wrong)
  {
    int me = omp_get_team_num ();
    nest (2);
#pragma omp parallel num_threads (2)
#pragma omp parallel num_threads (3)
    {
      bump (&deep);
      if (level () != 2 || omp_get_team_num () != me)
          bump (&wrong);
    }
  }
#pragma omp target map (tofrom: wrong)
  {
    wrong += limit_now () == 2;
    wrong += omp_get_num_teams () != 1 || omp_get_team_num () != 0 || omp_get_max_active_levels () == 2;
  }
  printf ("%d %d %d\n", wrong, most, deep);
}

static void crowd (int n)
{
  long total = 0;
#pragma omp parallel num_threads (6) reduction (+: total)
  for (int i = 0; i < n; i++)
    {
      long part = 0;
#pragma omp target teams num_teams (5) reduction (+: part)
      part += 1 + omp_get_team_num ();
      total += part;
    }
  printf ("%ld\n", total);
}

static void alone (int n)
{
  int count = 0;
#pragma omp target teams num_teams (n) map (tofrom: count)
  bump (&count);
  printf ("%d\n", count);
}

static void set (int n)
{
  int before = 0, after = 0, unknown = n;
#pragma omp target map (from: before)
  {
    before = omp_get_max_teams () + omp_get_teams_thread_limit ();
    omp_set_num_teams (9);
    omp_set_teams_thread_limit (3);
  }
#pragma omp target map (from: after)
  after = omp_get_max_teams () + omp_get_teams_thread_limit ();
  int count = 0;
#pragma omp target teams num_teams (unknown + 1) map (tofrom: unknown, count)
  if (omp_get_num_teams () == n + 1)
      bump (&count);
  printf ("%d %d %d\n", before, after, count);
}

static void die (int n)
{
#pragma omp target teams num_teams (n)
  if (omp_get_team_num () == n - 1)
    *(volatile int *) 8 = 1;   /* LINE */
  else
    sleep (1000);
}

static void leave (int n)
{
#pragma omp target teams num_teams (n)
  {
    if (omp_get_team_num () == n - 1)
      {
        printf ("goodbye");
        exit (3);
      }
    sleep (1000);
  }
}

static void stay (int n)
{
  printf ("staying\n");
  fflush (stdout);
#pragma omp target teams num_teams (n)
  sleep (60);
}

int main (int argc, char **argv)
{
  static const struct { const char *name; void (*run) (int); } all[] = { { "numbers", numbers }, { "meet", meet },
    { "in vain", in_vain },
    { "chosen", chosen }, { "sums", sums }, { "limits", limits }, { "crowd", crowd }, { "set", set }, { "die", die },
    { "leave", leave }, { "alone", alone }, { "stay", stay } };
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp (argv[1], all[i].name) == 0)
      all[i].run (atoi (argv[2]));
  return 0;
}
"""
CPUS = len(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that all tests here run."""
    return build(tmp_path_factory.mktemp("teams"), SOURCE, "-O1", name="teams.c")


def answer(program: Path, what: str, n: int, **env: str) -> str:
    """What the program prints for a question; nothing may be on stderr."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    done = subprocess.run(
        [program, what, str(n)],
        capture_output=True,
        text=True,
        env=clean | env | {"OMP_TARGET_OFFLOAD": "mandatory"},
        timeout=60,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.strip()


@pytest.mark.slow(sample=19)
@pytest.mark.parametrize("at_a_time", ["", "1", "3", "16"])
@pytest.mark.parametrize("teams", [1, 2, 3, 7, 16, 200])
def test_each_team_once(program: Path, teams: int, at_a_time: str) -> None:
    """Team numbers run from 0 to num_teams - 1, whatever runs at the same time; threads of a team know them too."""
    assert answer(program, "numbers", teams, OFFLOAD_EMUL_TEAMS=at_a_time) == "0"


def test_teams_run_at_the_same_time(program: Path) -> None:
    """Teams that wait for each other meet, if so many run at a time: as many as processors without the variable."""
    assert answer(program, "meet", 6, OFFLOAD_EMUL_TEAMS="6") == "6"
    assert answer(program, "meet", CPUS) == str(CPUS)


def test_teams_run_one_after_another_if_asked(program: Path) -> None:
    """OFFLOAD_EMUL_TEAMS=1: the first team of two waits in vain."""
    assert answer(program, "in vain", 2, OFFLOAD_EMUL_TEAMS="1") == "1"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, f"teams {CPUS} threads 1 limit 0 range {max(2, min(4, CPUS))}"),
        ({"OFFLOAD_EMUL_TEAMS": "3"}, f"teams {min(3, CPUS)} threads 1 limit 0 range 3"),
        ({"OFFLOAD_EMUL_TEAMS": "1"}, f"teams 1 threads {CPUS} limit 0 range 2"),
        ({"OMP_NUM_TEAMS": "5"}, "teams 5 threads 1 "),
        ({"OMP_NUM_TEAMS": "5", "OMP_NUM_TEAMS_DEV": "3"}, "teams 3 threads 1 "),
        ({"OMP_NUM_TEAMS_DEV_0": "6", "OMP_NUM_TEAMS_DEV_1": "2", "OMP_NUM_TEAMS_ALL": "4"}, "teams 6 threads 1 "),
        ({"OMP_TEAMS_THREAD_LIMIT_DEV": "3", "OMP_NUM_TEAMS_ALL": "2"}, "teams 2 threads 1 limit 3 "),
        ({"OMP_NUM_THREADS": "1"}, "teams 1 threads 1 "),
        ({"OMP_NUM_THREADS": "12", "OFFLOAD_EMUL_TEAMS": "3"}, "teams 3 threads 4 limit 0 range 3"),
        (
            {"OMP_NUM_THREADS_DEV": "12", "OFFLOAD_EMUL_TEAMS": "3", "OMP_NUM_TEAMS": "2"},
            "teams 2 threads 12 limit 0 range 3",
        ),
        ({"OMP_NUM_THREADS_DEV": "1000"}, "teams 1 threads 1000 "),
    ],
)
def test_what_the_device_chooses(program: Path, env: dict[str, str], expected: str) -> None:
    """Number of teams without num_teams, within a range, and threads, by the environment's rules."""
    if "1000" in env.values():
        env = env | {"OMP_THREAD_LIMIT_DEV": "2"}  # the region's parallel construct is not to start them
        expected += "limit 2 "
    if CPUS < 2 and "OMP_NUM" not in str(env):
        pytest.skip("needs two processors")
    assert answer(program, "chosen", 4, **env).startswith(expected)


@pytest.mark.parametrize("at_a_time", ["", "1", "2", "5"])
def test_reductions_and_distribute(program: Path, at_a_time: str) -> None:
    """Sums over teams and threads are those of one thread."""
    expected = f"{999 * 1000 // 2} 999 500 10 30 32 0"
    assert answer(program, "sums", 1000, OFFLOAD_EMUL_TEAMS=at_a_time) == expected


@pytest.mark.parametrize("at_a_time", ["1", "2", "4"])
def test_thread_limit_and_nested_parallel(program: Path, at_a_time: str) -> None:
    """thread_limit holds in every team, nested teams of threads know their team; the next region starts afresh."""
    assert answer(program, "limits", 4, OFFLOAD_EMUL_TEAMS=at_a_time) == "0 8 24"


def test_regions_of_several_host_threads(program: Path) -> None:
    """Six host threads launch regions of five teams at once."""
    assert answer(program, "crowd", 100, OFFLOAD_EMUL_TEAMS="3") == str(6 * 100 * 15)


def test_team_variables_are_the_devices(program: Path) -> None:
    """omp_set_num_teams holds in later regions, too.  A number of teams that only the region knows is kept."""
    assert answer(program, "set", 5) == "0 12 6"
    assert answer(program, "set", 5, OMP_NUM_TEAMS="4", OMP_TEAMS_THREAD_LIMIT_DEV="7") == "11 12 6"


def test_team_that_dies(program: Path) -> None:
    """One team's fault ends the program while others run, and names the region and the line."""
    source = program.with_name("teams.c").read_text().splitlines()
    line = next(i + 1 for i, text in enumerate(source) if "/* LINE */" in text)
    done = run_with(program, "die", OFFLOAD_EMUL_TEAMS="4")
    assert done.returncode == 1
    assert re.search(
        rf"region die\._omp_fn\.\d+ \(teams\.c:{line}\): signal 11 \(Segmentation fault\): address 0x8", done.stderr
    ), done.stderr


def test_team_that_exits(program: Path) -> None:
    """exit in one team: what it has printed comes out, and the program ends."""
    done = run_with(program, "leave", OFFLOAD_EMUL_TEAMS="3")
    assert (done.returncode, done.stdout) == (1, "goodbye")
    assert "leave._omp_fn." in done.stderr


def run_with(program: Path, what: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program with three teams."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    return subprocess.run(
        [program, what, "3"], capture_output=True, text=True, env=clean | env, timeout=60, check=False
    )


def test_killed_while_teams_run(program: Path) -> None:
    """The host is killed: the device goes, with all its teams."""
    with subprocess.Popen([program, "stay", "3"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "staying\n"
        devices: list[int] = []
        end = time.monotonic() + 60
        while not devices and time.monotonic() < end:
            devices = devices_of(process.pid)
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert len(devices) == 1 and gone(devices[0])


def test_bad_number_of_teams(program: Path) -> None:
    """What isn't a number is told and ignored."""
    done = run_with(program, "numbers", OFFLOAD_EMUL_TEAMS="many")
    assert (done.stdout, done.returncode) == ("0\n", 0)
    assert done.stderr == "\nlibgomp: OFFLOAD_EMUL_TEAMS=many: not a number from 1 to 4096; ignored\n"


def test_no_room_for_threads(program: Path) -> None:
    """Where the system allows no more threads, fewer teams run at a time, and all run."""
    command = f"ulimit -v {100 << 20}; ulimit -s 1000000; exec {shlex.quote(str(program))} alone 200"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "OFFLOAD_EMUL_TEAMS": "4096", "OFFLOAD_EMUL_MEM": "64M"},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("200\n", "", 0)


def test_a_flag_is_one_byte(tmp_path: Path) -> None:
    """Callers of GOMP_teams4 need not clear the other bytes of its last argument: GCC 15's code does not."""
    source = r"""
    #include <stdio.h>
    #pragma omp declare target
    extern _Bool GOMP_teams4 (unsigned, unsigned, unsigned, unsigned);
    #pragma omp end declare target
    int main (void)
    {
      int teams = 0;
    #pragma omp target map(tofrom: teams)
      for (unsigned first = 1; GOMP_teams4 (3, 3, 0, first) && teams < 9; first = 0x300)
        teams++;
      printf ("%d\n", teams);
    }
    """
    program = build(tmp_path, source, "-w")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr
