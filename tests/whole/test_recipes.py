"""The files of recipes are well-formed, and say of versions and dependencies what pyproject.toml says."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from driver_tools import ROOT, needs

RECIPES = ROOT / "recipes"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = {re.split(r"[><=]", text)[0]: text for text in PROJECT["dependencies"]}


def loaded(path: Path) -> Any:
    """A YAML file."""
    if importlib.util.find_spec("yaml") is None:
        pytest.skip("not installed: PyYAML")
    import yaml

    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", sorted(RECIPES.rglob("*.y*ml")), ids=lambda path: str(path.name))
def test_yaml(path: Path) -> None:
    assert isinstance(loaded(path), dict)


def shell_lines() -> list[str]:
    """What the CI files type."""
    lines = [step["run"] for step in loaded(RECIPES / "ci/action.yml")["runs"]["steps"] if "run" in step]
    job = loaded(RECIPES / "ci/github-workflow.yml")["jobs"]["offload"]
    lines += [step["run"] for step in job["steps"] if "run" in step]
    gitlab = loaded(RECIPES / "ci/gitlab-ci.yml")["offload"]
    return [*lines, *gitlab["before_script"], *gitlab["script"]]


@needs("bash")
def test_ci_files_are_shell() -> None:
    for text in shell_lines():
        plain = re.sub(r"\$\{\{.*?\}\}", "12", text)
        done = subprocess.run(["bash", "-n"], input=plain, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), text


def test_spack_recipe() -> None:
    tree = ast.parse((RECIPES / "spack/package.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    said = {(call.func.id, call.args[0].value) for call in calls if isinstance(call.args[0], ast.Constant)}  # type: ignore[attr-defined]
    assert ("version", PROJECT["version"]) in said
    depends = {str(text).split("@")[0].removeprefix("py-") for name, text in said if name == "depends_on"}
    assert set(NEEDED) <= depends


def test_conda_recipe() -> None:
    recipe = loaded(RECIPES / "conda/recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["version"]
    assert {text.replace(" ", "") for text in recipe["requirements"]["run"]} >= set(NEEDED.values())


def test_container_file() -> None:
    """Every line is an instruction or goes on one; what it copies is there."""
    text = (RECIPES / "Containerfile").read_text().replace("\\\n", " ")
    words = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert set(words) <= {"FROM", "RUN", "COPY", "ENV", "WORKDIR", "CMD"} and words[0] == "FROM"
