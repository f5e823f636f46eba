"""`make check-clients`: tests of programs that use the CUDA driver, on the emulated GPU.

    run.py [CLIENT…]

A client is a file NAME.toml beside this one: its packages, which get a virtual environment of their own, and its tests.
Failures are compared with testsuite/expected/clients-NAME.txt, in both directions.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "testsuite")]

from gcc_suite import expected  # noqa: E402

OUT: Final = ROOT / "testsuite" / "out" / "clients"
GOMPY: Final = ROOT / ".venv" / "bin" / "gompy"
FETCH_SECONDS: Final = 1200
FOREIGN: Final = ("PYTHON", "NUMBA", "TRITON", "CUDA_", "GOMPY_", "DEV")
SKIPPED: Final = 77


class Absent(Exception):
    """A client that cannot be had here; the text says why."""


@dataclass(frozen=True)
class Client:
    """What a client's file says."""

    name: str
    packages: list[str]
    modules: list[str]
    """Modules of tests, the last part with `*`."""
    seconds: int
    """For one module."""
    source: str = ""
    """The package whose sdist has the tests."""
    here: bool = False
    """The tests lie beside this file."""
    empty: list[str] = field(default_factory=list)
    """Empty files, below the folder that `{empty}` stands for in the environment."""
    environment: dict[str, str] = field(default_factory=dict)
    lacks: list[dict[str, str]] = field(default_factory=list)
    """A failure with this text in its reason has not come to the GPU, for want of what is named."""

    @property
    def folder(self) -> Path:
        """Where all of it is kept."""
        return OUT / self.name

    @property
    def python(self) -> Path:
        """Its own Python."""
        return self.folder / "venv" / "bin" / "python"


def read(path: Path) -> Client:
    """A client's file."""
    with path.open("rb") as file:
        return Client(path.stem, **tomllib.load(file))


def pip(client: Client, *words: str) -> None:
    """Run its pip; Absent with pip's last line when that fails."""
    command = [str(client.python), "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Absent(f"pip {words[0]} took more than {FETCH_SECONDS} s") from None
    if done.returncode:
        raise Absent((done.stderr.strip().splitlines() or ["pip failed"])[-1])


def prepare(client: Client) -> Path:
    """Install what is not there yet; the folder in which its tests are run."""
    stamp, wanted = client.folder / "installed", "\n".join([*client.packages, client.source])
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(client.folder / "venv", with_pip=True, clear=True)
        pip(client, "install", *client.packages)
        if client.source:
            downloads = client.folder / "sdist"
            pip(client, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(downloads), client.source)
            for archive in downloads.glob("*.tar.gz"):
                shutil.unpack_archive(archive, client.folder / "source")
        stamp.write_text(wanted)
    for name in client.empty:
        (client.folder / "empty" / name).parent.mkdir(parents=True, exist_ok=True)
        (client.folder / "empty" / name).touch()
    if client.here:
        return HERE
    if not client.source:
        return client.folder
    (folder,) = (client.folder / "source").iterdir()
    (folder / "test" / "__init__.py").touch()  # Python has a package of that name, too
    return folder


def modules(client: Client, folder: Path) -> list[str]:
    """The modules of tests that there are."""
    roots = [folder, *client.python.parent.parent.glob("lib/python*/site-packages")]
    found = []
    for pattern in client.modules:
        package, _, last = pattern.rpartition(".")
        files = {path.stem for root in roots for path in root.joinpath(*package.split(".")).glob("*.py")}
        prefix = f"{package}." if package else ""
        found += [prefix + name for name in sorted(files) if fnmatch.fnmatch(name, last)]
    return found


def environment(client: Client) -> dict[str, str]:
    """The tests' own, without what the one who starts them has set for himself."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    own = {name: value.format(empty=client.folder / "empty") for name, value in client.environment.items()}
    return env | own | {"XDG_CACHE_HOME": str(client.folder / "cache"), "HOME": str(client.folder)}


def run_module(client: Client, module: str, folder: Path) -> list[dict[str, Any]]:
    """One module in a process of its own: what each test came to."""
    lines = client.folder / "lines.json"
    lines.unlink(missing_ok=True)
    tests = [str(client.python), str(HERE / "results.py"), module, str(lines)]
    command = ["timeout", "-k", "10", str(client.seconds), str(GOMPY), "cuda", "run", "--", *tests]
    with (client.folder / "output.txt").open("a") as output:
        print(f"== {module}", file=output, flush=True)
        status = subprocess.run(
            command, cwd=folder, env=environment(client), stdout=output, stderr=output, check=False
        ).returncode
    found: dict[str, dict[str, Any]] = {}
    for line in lines.read_text().splitlines() if lines.exists() else []:
        result = json.loads(line)
        found[result["name"]] = result
    for result in found.values():
        if result["status"] == "BEGUN":
            result |= {"status": "FAIL", "reason": f"the process ended with status {status} in it"}
    if status and not any(result["status"] == "FAIL" for result in found.values()):
        found[module] = {"name": module, "status": "FAIL", "reason": f"the process ended with status {status}"}
    return list(found.values())


def judge(client: Client, result: dict[str, Any]) -> dict[str, Any]:
    """The same; a failure for want of something is a skip."""
    for lack in client.lacks:
        if result["status"] == "FAIL" and lack["text"] in result["reason"]:
            return result | {"status": "SKIP", "reason": f"needs {lack['what']}"}
    return result


def check(client: Client) -> int:
    """Run all of a client's tests, report; 0 when all is as the list says."""
    known_at = ROOT / "testsuite" / "expected" / f"clients-{client.name}.txt"
    known = expected.read(known_at) if known_at.exists() else {}
    client.folder.mkdir(parents=True, exist_ok=True)
    folder = prepare(client)
    (client.folder / "output.txt").unlink(missing_ok=True)
    results = []
    for module in modules(client, folder):
        results += [judge(client, result) for result in run_module(client, module, folder)]
    if not results:
        print(f"check-clients: error: {client.name}: no test was run", file=sys.stderr)
        return 2
    (client.folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    counts = Counter(result["status"] for result in results)
    lacking = Counter(result["reason"] for result in results if result["reason"].startswith("needs "))
    words = ", ".join([f"{counts['PASS']} passed", f"{counts['FAIL']} failed", f"{counts['SKIP']} skipped"])
    print(f"{client.name}: {words}" + "".join(f"; {number} {reason}" for reason, number in lacking.items()))
    reasons = {result["name"]: result["reason"] for result in results}
    difference = expected.compare(known, [(result["status"], result["name"]) for result in results])
    for text in difference.unexpected:
        print(f"unexpected {text}: {reasons[text.removeprefix('FAIL: ')]}")
    for name in difference.gone:
        print(f"not bad any more: {name}")
    return int(bool(difference.unexpected or difference.gone))


def main() -> int:
    """All clients, or those that are named: the worst status; 77 when none could be had."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    there = [path.stem for path in sorted(HERE.glob("*.toml"))]
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(there)}; all by default")
    options = parser.parse_args()
    if unknown := [name for name in options.clients if name not in there]:
        parser.error(f"no such client: {' '.join(unknown)}")
    statuses = []
    for name in options.clients or there:
        try:
            statuses.append(check(read(HERE / f"{name}.toml")))
        except Absent as error:
            print(f"{name}: skipped: {error}")
        except expected.ExpectedError as error:
            print(f"check-clients: error: {error}", file=sys.stderr)
            statuses.append(2)
    return max(statuses, default=SKIPPED)


if __name__ == "__main__":
    raise SystemExit(main())
