"""Help keeps to the terminal's width, and is as it is written where there is room."""

from __future__ import annotations

import pytest

from gompy.cli import main, manual
from gompy.tools.helptext import fitted

COMMANDS = [command for root in [manual.gompy()] for one in root.commands for command in [one, *one.commands]]


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        assert main.dispatch([*words, "--help"]) == 0
    except SystemExit as stop:
        assert stop.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [[], *(command.name.split()[1:] for command in COMMANDS)], ids=" ".join)
def test_narrow(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = help_of(words, capsys)
    wide = [line for line in text.splitlines() if len(line) > 40 and " " in line.strip()]
    assert not wide
    monkeypatch.setenv("COLUMNS", "300")
    assert sorted(set(help_of(words, capsys).split())) == sorted(set(text.split()))


def test_fitted() -> None:
    text = "a list:\n  first   the text of the first of them\n  a word that is long  and its text"
    assert fitted(text, 0) == text
    assert fitted(text, 30) == (
        "a list:\n  first   the text of the\n          first of them\n  a word that is long\n      and its text"
    )
    assert fitted("It is so.  And so on, further.", 24) == "It is so.  And so on,\n  further."


def test_what_is_no_command_stays_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main.dispatch(["nothing"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_width_of_nothing() -> None:
    assert fitted("a b c d e f g h i j k l m n", 1) == "a b c d e f g h i j\n  k l m n"
