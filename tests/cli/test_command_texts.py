"""What `images`, `run`, `top`, `devices`, `record`, `replay` and `trace` say, from their code, against what tests hold.

Each piece of a message that stands fast has to be in a test, in a file that one compares, or on a page whose output is
compared.  Below are those that no program brings about by itself.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from text_pieces import held, pieces, printed

from gompy.check.log import Log
from gompy.cli import (
    device_probe,
    device_usage,
    images,
    record,
    replay,
    run,
    run_info,
    run_options,
    run_program,
    run_rr,
    trace_png,
)
from gompy.cli import top_process as top
from gompy.cli.run_follow import Follower
from gompy.cli.run_program import Program, RunError
from gompy.objects.rewrite import RewriteError
from gompy.replay.running import Result

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
FAMILIES = (
    *("images", "image_files", "run*", "top*", "devices", "device_probe", "device_usage"),
    *("record", "replay", "trace*"),
)
PAGES = ("diagnosis.md", "replay.md")
APART = {
    "run_gdb.py": "commands for gdb",
    "trace_svg.py": "draws",
}
PROGRAMS = {"NAME, DRIVER, MEMORY, PROCESSORS =": "device_probe.py: a program of Python"}
"""What is no message."""


def said() -> dict[str, str]:
    """The pieces of the commands' files."""
    files = [path for name in FAMILIES for path in (ROOT / "gompy" / "cli").glob(f"{name}.py")]
    found = pieces(path for path in files if path.name not in APART)
    return {piece: file for piece, file in found.items() if piece not in PROGRAMS}


@pytest.mark.slow
def test_each_text_is_held_by_a_test() -> None:
    known = held(sorted(TESTS.rglob("*.py"))) + printed(ROOT / "docs" / page for page in PAGES)
    known += "\n".join(path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.txt")))
    assert {piece: file for piece, file in said().items() if piece not in known} == {}


def test_the_texts_are_found() -> None:
    found = said()
    assert len(found) > 90
    assert {"this machine has no performance counters of its processor", "no process uses them"} <= {
        piece.partition(", as most")[0] for piece in found
    }


def inspected(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[tuple[int, Any]], argparse.Namespace]:
    """A program with one image, of which a rewriter makes one with ``count``."""
    from gompy.abi import targets
    from gompy.cli import inspect_report
    from gompy.objects import image_surgery
    from gompy.objects.images import Image

    image = Image(targets.INTELMIC, 0, 0, [])
    part = SimpleNamespace(elf=SimpleNamespace(data=b""), all_images=[image], images=[image], findings=[])
    result = SimpleNamespace(elf=part.elf, all_images=[image] * count, images=[image] * count)
    monkeypatch.setattr(inspect_report, "inspect_bytes", lambda *_: result)
    monkeypatch.setattr("gompy.cli.findings.find", lambda _: [])
    monkeypatch.setattr(image_surgery, "replaced", lambda *_: b"")
    monkeypatch.setattr(image_surgery, "stripped", lambda *_: b"")
    return part, [(0, image)], argparse.Namespace(file="prog", new=[], output=None)


def test_images_that_a_rewriter_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is read anew, and is not written."""
    part, chosen, options = inspected(2, monkeypatch)
    with pytest.raises(RewriteError) as replacing:
        images._replace(part, chosen, options)
    with pytest.raises(RewriteError) as stripping:
        images._strip(part, chosen, options)
    assert str(replacing.value) == "prog: the result has 2 images"
    assert str(stripping.value) == "prog: the result still has 2 images"


def test_a_status_that_is_none() -> None:
    with pytest.raises(argparse.ArgumentTypeError) as error:
        run_options._status("256")
    assert str(error.value) == "'256' is no exit status from 0 to 255"


def settings(program: Program, **options: Any) -> str:
    """Why a program is not run with some options."""
    plain = {"device": None, "devices": None, "mandatory": False, "trace": None, "check": None, "info": False}
    with pytest.raises(RunError) as error:
        run.settings(argparse.Namespace(**plain | {"under": None} | options), program)
    return str(error.value)


def test_devices_that_a_program_cannot_have(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Program("prog", "prog")
    other.add([], {"amdgcn-amdhsa"})
    assert settings(other, device="nvptx") == "prog: it has no code for nvptx, only for other devices"
    many = settings(Program("prog", "prog"), device="nvptx", devices=17)
    assert many == "--devices 17: the emulated driver has at most 16 GPUs"
    monkeypatch.setattr("gompy.driver.paths.LIBDIR", "/nonexistent")
    stock = Program("prog", "prog")
    stock.preload = True
    gone = settings(stock)
    assert gone == "/nonexistent/libgompy.so.1: not there; build gompy again"


def test_a_program_with_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getxattr", lambda *_: b"\1")
    with pytest.raises(RunError) as error:
        run_program.look_at("/bin/true", False)
    text = "/bin/true: it has file capabilities: its caller's variables do not count in it"
    assert (str(error.value), error.value.status) == (text, 126)


def test_maps_of_a_program_that_uses_no_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    follower = Follower(str(tmp_path / "trace"), str(tmp_path / "log"))
    follower.end()
    assert capsys.readouterr().err == "gompy run: --show-maps: the program has not used a device's runtime\n"


def test_a_log_that_was_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log").write_bytes(b"")
    (tmp_path / "trace").write_text("[]\n")
    monkeypatch.setattr("gompy.check.log.read_log", lambda _: Log(full=True))
    lines = list(run_info.told(str(tmp_path / "trace"), str(tmp_path / "log")))
    assert lines == ["gompy run: --info: the log was full: of variables, what came later is left out"]


def test_what_rr_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paranoid = tmp_path / "paranoid"
    assert run_rr.reason_against(str(tmp_path / "none"), str(paranoid)) == (
        "this machine has no performance counters of its processor, as most virtual machines: use another one"
    )
    (tmp_path / "cpu").mkdir()
    paranoid.write_text("2\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert run_rr.reason_against(str(tmp_path), str(paranoid)) == (
        f"the kernel keeps performance counters from users ({paranoid} is 2): set it to 1"
    )
    monkeypatch.setattr("shutil.which", lambda _: "/bin/rr")
    with pytest.raises(RunError) as error:
        run_rr.rr_command(["rr", "replay"], ["./a"])
    wanted = "--under rr: only `rr record` runs a program, not `rr replay`; replay it with `rr replay`"
    assert str(error.value) == wanted


def test_processes_that_top_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = str(os.getpid())
    monkeypatch.setattr(top, "_is_ours", lambda _: False)
    with pytest.raises(top.TopError) as others:
        top.find(pid)
    assert str(others.value) == f"process {pid}: it is another user's"

    def refused(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(top.TopError) as closed:
        top.Process(7)
    assert str(closed.value) == "process 7: its memory cannot be read: Permission denied"


def test_another_version_s_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table begins with another word, or there is none."""
    from gompy.driver import paths

    library = os.path.join(paths.LIBDIR, top.LIBRARY)
    process = top.Process(os.getpid()) if top.uses_runtime(os.getpid()) else top.Process.__new__(top.Process)
    process.pid, process._files = 7, [(0, 1, 0, library)]
    monkeypatch.setattr(process, "_read", lambda _, size: bytes(size))
    with pytest.raises(top.TopError) as error:
        process._status()
    assert str(error.value) == "process 7: its libgompy.so.1 is of another version of gompy"


def test_states_of_a_device() -> None:
    assert top.STATES == ("not started", "running", "ended")


def test_a_plugin_that_says_nothing() -> None:
    assert device_probe._why("python", [], 3) == "no message (exit status 3)"
    assert device_probe.Kind("nvptx", "emulated", "").shown == "nvptx (emulated GPU)"


def test_gpus_that_nobody_uses() -> None:
    name = "gompy emulated GPU (sm_80)"
    gpu = {"number": 0, "name": name, "memory": 2**30, "memory_used": 0, "kernels": 0, "copies": 0, "processes": []}
    assert device_usage.table([gpu]) == [
        "number             memory  kernels  copies  name",
        "     0  0 MiB of 1024 MiB      0 %     0 %  gompy emulated GPU (sm_80)",
        "",
        "no process uses them",
    ]


def test_a_recording_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "look_at", lambda *_, **__: Program("prog", "prog"))
    monkeypatch.setattr("gompy.cli.run.settings", lambda *_: {})
    monkeypatch.setattr("gompy.tools.child.run_child", lambda *_: 0)
    with pytest.raises(Exception, match="nothing") as error:
        record.run_recorded(["prog"], None, str(tmp_path / "r"), {})
    assert str(error.value) == "nothing was recorded: the program has not used a device's runtime"


def recorded(**more: Any) -> Any:
    """A region of a recording."""
    item = SimpleNamespace(host=0x10, size=4, target=0x20)
    plain = {
        "place": "a.c:3",
        "kind": "nvptx",
        "number": 0,
        "after": None,
        "objects": [item],
        "names": {},
        "dropped": False,
        "is_kernel": False,
    }
    return SimpleNamespace(**plain | {"name": lambda: "region 0 main._omp_fn.0"} | more)


def test_what_is_in_a_recording_of_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    memory = [SimpleNamespace(start=0x20, size=4), SimpleNamespace(start=0x100, size=64)]
    shape = [0, 0, 0, 512, 3, 2, 1, 64, 1, 1, 12]
    kernel = recorded(is_kernel=True, what="kernel", shape=shape, memory=memory)
    recording: Any = SimpleNamespace(path="r", regions=[kernel])
    replay.show(recording, recording.regions)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  kernel, grid (3, 2, 1), block (64, 1, 1), 12 bytes of arguments, 512 of shared memory",
        "  1 block of memory, 64 bytes",
        "  ?: 4 bytes, device 0x20",
    ]


def test_a_replay_of_what_did_not_end(capsys: pytest.CaptureFixture[str]) -> None:
    recording: Any = SimpleNamespace(path="r", regions=[recorded()])
    replay.show(recording, recording.regions)
    options = argparse.Namespace(tolerance=0.0, scalar=None)
    result = Result()
    result.same, result.pointers = False, 2
    assert replay.tell(recording, recording.regions[0], "host", result, options) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a.c:3: region 0 main._omp_fn.0 on nvptx, which did not end",
        "  ?: 4 bytes, host 0x10, device 0x20",
        "a.c:3: region 0 main._omp_fn.0 on host: ran to its end; the recorded one did not "
        "(memory elsewhere, 2 pointers moved)",
    ]


def test_a_replay_of_what_is_not_there() -> None:
    regions = [recorded(kind="gcn")]
    recording: Any = SimpleNamespace(path="r", regions=regions, kept=regions)
    with pytest.raises(Exception, match="regions") as number:
        replay.choose(recording, [4])
    with pytest.raises(Exception, match="gcn") as kind:
        replay.replay(recording, recording.regions, argparse.Namespace(on=None))
    assert str(number.value) == "r: it has regions 0 to 0, not 4"
    assert str(kind.value) == "r: recorded on gcn; --on says where to run it"


def test_a_picture_that_nothing_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(Exception, match="png") as error:
        trace_png._converted("<svg/>")
    assert str(error.value) == (
        "--png: neither cairosvg nor rsvg-convert is here: pip install cairosvg, or apt install librsvg2-bin; "
        "--svg needs neither"
    )
