"""Man pages and completions: every command and option is in them, and their readers take them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, needs

from gompy.cli import completion, main, man, manual
from gompy.driver.compiler import OURS

COMMANDS = manual.every()


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


def test_every_command_has_a_page(tools: Tools) -> None:
    tools.ok("gompy", "man", "--to", "share")
    names = {path.name for path in (tools.work / "share" / "man1").iterdir()}
    wanted = {"gompy.1", *(f"{name}.1" for name in OURS), *(f"gompy-{name}.1" for name in main.COMMANDS)}
    assert names == wanted


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_a_page_has_all_options(command: manual.Command) -> None:
    text = man.page(command).replace("\\-", "-")
    for option in [*command.options, *(option for below in command.commands for option in below.options)]:
        assert option.shown in text or command.name == "gompy", option


@needs("groff")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_groff_has_no_complaint(command: manual.Command) -> None:
    words = ["groff", "-man", "-Tutf8", "-ww", "-z"]
    done = subprocess.run(words, input=man.page(command), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_lines_that_look_like_requests() -> None:
    assert man.escaped(".so x\n'y\na-b\\c") == "\\&.so x\n\\&'y\na\\-b\\ec"


def test_man_of_nothing(tools: Tools) -> None:
    done = tools.run("gompy", "man", "nothing")
    assert (done.returncode, done.stderr) == (2, "gompy man: error: no command 'nothing'\n")


def completed(*words: str) -> list[str]:
    """What bash proposes for the last word."""
    line = " ".join(words)
    script = f"{completion.bash()}COMP_WORDS=({line}); [ -n '{words[-1]}' ] || COMP_WORDS+=('')\n"
    script += f"COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}\n"
    function = "_gompy" if words[0] == "gompy" else "_gompy_compiler"
    script += f'{function} {words[0]}; printf "%s\\n" "${{COMPREPLY[@]}}"\n'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes() -> None:
    assert completed("gompy", "insp") == ["inspect"]
    assert set(main.available()) <= set(completed("gompy", ""))
    assert completed("gompy", "inspect", "--su") == ["--summary"]
    assert completed("gompy", "run", "--device", "n") == ["nvptx"]
    assert completed("gompy", "images", "rep") == ["replace"]
    assert "bash" in completed("gompy", "completion", "b")
    assert completed("gompcc", "-fopena") == ["-fopenacc"]
    assert completed("gompclang++", "-fopen") == ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]
    assert completed("gompcc", "-foffload=nv") == ["nvptx-none"]


@pytest.mark.parametrize(("shell", "check"), [("zsh", "-n"), ("fish", "--no-execute"), ("bash", "-n")])
def test_shells_take_their_scripts(tools: Tools, shell: str, check: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"not installed: {shell}")
    script = tools.write("script", tools.ok("gompy", "completion", shell))
    done = tools.run(shell, check, script)
    assert (done.returncode, done.stderr) == (0, "")


@needs("fish")
def test_fish_completes(tools: Tools) -> None:
    script = tools.write("script", tools.ok("gompy", "completion", "fish"))
    env = {"HOME": str(tools.work)}
    said = tools.ok("fish", "-c", f"source {script}; complete -C 'gompy inspect --su'", env=env)
    assert said.startswith("--summary\t")
