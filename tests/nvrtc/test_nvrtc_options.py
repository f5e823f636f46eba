"""gompy.nvrtc: the options, and what is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gompy.nvrtc import cache, options


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-DA=1", "-D B=2", "-D", "C"], ["-D", "A=1", "-D", "B=2", "-D", "C"]),
        (["--define-macro=A=1", "--undefine-macro", "B", "-UC"], ["-D", "A=1", "-U", "B", "-U", "C"]),
        (["--std=c++20"], ["-std=c++20"]),
        (["-std=c++11", "--restrict", "--maxrregcount=32", "-maxrregcount", "32"], ["-std=c++11"]),
        (["--use_fast_math"], ["-ffast-math", "-fcuda-approx-transcendentals"]),
        (["-lineinfo", "-G", "--pre-include=x.h"], ["-g1", "-g", "-include", "x.h"]),
        (["--fmad=false", "-ftz=true"], ["-ffp-contract=off", "-fgpu-flush-denormals-to-zero"]),
        (["-rdc=false", "--dopt=on", "-dopt", "--prec-div=false"], []),
    ],
)
def test_words(given: list[str], words: list[str]) -> None:
    assert options.parse(given).words == ["-std=c++17", *words]


def test_other_settings() -> None:
    """Architectures, folders, switches."""
    found = options.parse(["-arch", "compute_80", "-I/a b", "--include-path=/c", "-I", "/d", "-default-device"])
    assert (found.architecture, found.machine, found.default_device) == (80, False, True)
    assert found.folders == ["/a b", "/c", "/d"]
    found = options.parse(["--gpu-architecture=sm_90a", "--no-source-include"])
    assert (found.architecture, found.machine, found.own_folder) == (90, True, False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["file.cu"], "unrecognized option 'file.cu' found"),
        (["--restrict=1"], "unrecognized option '--restrict=1' found"),
        (["---restrict"], "unrecognized option '---restrict' found"),
        ([""], "unrecognized option '' found"),
        (["-arch=sm_10"], "invalid value 'sm_10' for --gpu-architecture (-arch)"),
        (["-arch=80"], "invalid value '80' for --gpu-architecture (-arch)"),
        (["--std=c++98"], "invalid value 'c++98' for '-std'"),
        (["--fmad=yes"], "invalid value 'yes' for '-fmad'"),
        (["-I"], "no value for '-I'"),
        (["--time=out.csv"], "unrecognized option '--time=out.csv' found"),
        (["-dlto"], "'-dlto' is not implemented by gompy"),
        (["--device-c"], "'--device-c' is not implemented by gompy"),
    ],
)
def test_what_is_no_option(given: list[str], message: str) -> None:
    with pytest.raises(options.OptionError) as error:
        options.parse(given)
    assert str(error.value) == message


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found again while the files read are as they were, and nobody else could have written the entry."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    header, rule = tmp_path / "a b.h", tmp_path / "rule"
    header.write_text("1")
    name = str(header).replace(" ", "\\ ")
    rule.write_text(f"prog.ptx: \\\n  {name} /below/prog.cu\n")
    made = cache.Made("log", b"ptx \xff", ["name"])
    cache.Entry([b"x"], []).keep(str(rule), "/below", made)
    entry = cache.Entry([b"x"], [])
    assert entry.find() == made and cache.Entry([b"x", b""], []).find() is None
    os.chmod(entry.path, 0o666)
    assert entry.find() is None
    os.chmod(entry.path, 0o600)
    header.write_text("22")
    assert entry.find() is None
    Path(entry.path).write_text("[]")
    assert entry.find() is None
    monkeypatch.setenv("GOMPY_NVRTC_CACHE", "0")
    assert cache.Entry([b"x"], []).path == ""


def test_cache_is_thinned_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go."""
    monkeypatch.setattr(cache, "MOST", 8)
    for number in range(9):
        (tmp_path / str(number)).write_text("")
        os.utime(tmp_path / str(number), (number, number))
    cache.thin_out(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == list("345678")
