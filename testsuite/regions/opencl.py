"""OpenCL kernels made of the regions of GCC's own tests: how many, why not, and whether programs end as without.

Exit status 1 if a program that is right without kernels is not so with them; 2 for wrong usage, or where OpenCL or
tree-sitter is missing.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [path for path in (str(HERE.parent), str(ROOT), str(ROOT / "tests")) if path not in sys.path]

import runs  # noqa: E402
from gcc_suite import source  # noqa: E402
from opencl_tools import opencl_obstacle  # noqa: E402

from gompy.dg import plan, runner  # noqa: E402


class Run(runner.Run):
    """A test, and what with_kernels.py has found."""

    found: dict[str, Any] | None = None

    def run(self, wanted: plan.TestPlan, work: Path, program: str) -> None:
        """Run it; keep what was found before the folder goes."""
        super().run(wanted, work, program)
        if (work / "kernels.json").exists():
            self.found = json.loads((work / "kernels.json").read_text())


def reason(text: str) -> str:
    """A reason without the names in it, so that those of a kind are one; clauses and directives have theirs."""
    if text.startswith("clause ") or text.endswith("without a loop"):
        return text
    return re.sub(r"'[^']*'", "'…'", re.sub(r"^/\S*\.cl:\d+:\d+: ", "", text))


def show(ran: list[Run]) -> bool:
    """The numbers; whether all programs end as without kernels."""
    found = [(run.test.name, run.found) for run in ran if run.found is not None]
    total = sum(one["regions"] for _, one in found)
    refused = Counter(reason(text) for _, one in found for text in one["refused"])
    broken = Counter(reason(text.partition("error: ")[2] or text) for _, one in found for text in one["broken"])
    made = total - sum(refused.values())
    print(f"{len(found)} programs, {total} regions: {made} have kernels ({100 * made / max(total, 1):.0f} %)")
    print(
        f"  {sum(one['ran'] for _, one in found)} kernels ran, {sum(broken.values())} were refused by OpenCL's compiler"
    )
    for text, count in (refused + broken).most_common():
        print(f"  {count:5} {text}")
    wrong = [
        f"{name}: status {one['without']} without kernels, {one['with']} with them, output "
        f"{'equal' if one['equal'] else 'differs'}"
        for name, one in found
        # Without kernels the device is the program's process, and omp_is_initial_device says so: some tests abort then.
        if one["without"] == 0 and (one["with"] != 0 or not one["equal"])
    ]
    for line in wrong:
        print(f"unexpected: {line}")
    return not wrong and bool(found)


def main() -> int:
    """Run; show."""
    options = runs.parser(
        "OpenCL kernels made of the regions of GCC's libgomp tests", ("libgomp.c", "libgomp.c++")
    ).parse_args()
    if not importlib.util.find_spec("tree_sitter"):
        print(
            "opencl.py: error: not installed: the extra 'regions' (tree-sitter): no kernel could be made",
            file=sys.stderr,
        )
        return 2
    if problem := opencl_obstacle():
        print(f"opencl.py: error: {problem}", file=sys.stderr)
        return 2
    try:
        return int(not show(runs.go(options, Run, HERE / "with_kernels.py")))
    except source.SourceError as error:
        print(f"opencl.py: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
