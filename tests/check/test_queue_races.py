"""`gompy run --check=race` on the emulated GPU: races between OpenACC's queues."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "testsuite" / "check"
BIN = ROOT / ".venv" / "bin"


def told(folder: Path, name: str) -> tuple[int, str]:
    """The exit status and the report, without what the driver has said."""
    source = CORPUS / name
    kind = "-fopenacc" if "#pragma acc" in source.read_text() else "-fopenmp"
    env = {**os.environ, "GOMPY_CUDA": "emulated"}
    words = [str(BIN / "gompcc"), "-g", kind, "-foffload=nvptx-none", str(source), "-o", "program"]
    subprocess.run(words, check=True, cwd=folder, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "nvptx", "--check=race", "./program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    lines = (line for line in done.stderr.splitlines(True) if not line.startswith(("libcuda (gompy): ", "libgompy: ")))
    return done.returncode, re.sub("0x[0-9a-f]+", "0x…", "".join(lines))


QUEUES = """\
race-acc-queues.c:8: error: a (byte 0 of 4000) is written in region main._omp_fn.0 on device 0, and read in region \
main._omp_fn.1 beside it in another queue, and nothing says which is first [race]
race-acc-queues.c:10: note: it is read here in region main._omp_fn.1
race-acc-queues.c:7: note: region main._omp_fn.0 begins here
race-acc-queues.c:9: note: region main._omp_fn.1 begins here
race-acc-queues.c:8: mend: #pragma acc wait between them, a wait clause, or the same queue
gompy run: --check: 1 error
"""
COPY = """\
race-acc-copy.c:8: error: a (byte 0 of 4000) is written in region main._omp_fn.0 on device 0, and read by a copy \
beside it in another queue, and nothing says which is first [race]
race-acc-copy.c:9: note: it is read here by a copy
race-acc-copy.c:7: note: region main._omp_fn.0 begins here
race-acc-copy.c:8: mend: #pragma acc wait between them, a wait clause, or the same queue
gompy run: --check: 1 error
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(("name", "report"), [("race-acc-queues.c", QUEUES), ("race-acc-copy.c", COPY)])
def test_the_report_and_the_right_twin(tmp_path: Path, name: str, report: str) -> None:
    assert told(tmp_path, name) == (86, report)
    assert told(tmp_path, name.replace(".c", "-right.c")) == (0, "")
