"""The files of recipes, each by the tool that reads it: the container, the steps of two CI systems, conda's recipe.

The CI systems are not here.  Their steps are typed in order in a fresh Debian 12, as their runners type them.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matrix import settings, tree

from .places import PROGRAM, ROOT, WANTED, Places, Wrong, version
from .trees import typed

RECIPES = ROOT / "recipes"
SUITE = "bookworm"
IMAGE = "docker.io/library/debian:12"
MAKEFILE = "prog: hello.c\n\t$(CC) -g -O2 -fopenmp hello.c -o $@\n"
"""Of the project that the CI files are copied to."""
RUNNER = ("sudo", "git", "ca-certificates")
"""What a runner of GitHub's has that the smallest system has not."""
EXPRESSION = re.compile(r"\$\{\{\s*(\w+)\.(\w+)\s*\}\}")


def loaded(places: Places, path: Path) -> Any:
    """A YAML file, read by PyYAML of the builder's environment."""
    text = "import json, sys, yaml; json.dump(yaml.load(open(sys.argv[1]), yaml.BaseLoader), sys.stdout)"
    return json.loads(places.run(places.builder, "-c", text, path))


@contextmanager
def project(wheel: Path) -> Iterator[tuple[tree.Tree, Path]]:
    """A fresh tree with a wheel and a small project in ``/srv/project``; the tree and a log.  Raises Wrong, NoTree."""
    tree.check(SUITE)
    with tree.made(SUITE) as here:
        work = here.root / "srv/project"
        work.mkdir(parents=True)
        shutil.copy(PROGRAM, work)
        (work / "Makefile").write_text(MAKEFILE)
        shutil.copy(wheel, here.root / "srv")
        yield here, here.root.parent / "log"


def by_gitlab(places: Places, wheel: Path, sdist: Path) -> str:
    """The lines of GitLab's file, as its runner types them: one shell, which ends at the first that fails."""
    job = loaded(places, RECIPES / "ci/gitlab-ci.yml")["offload"]
    if job["image"] != IMAGE.rpartition("/")[2]:
        raise Wrong(f"gitlab-ci.yml: another image than {IMAGE}")
    lines = [f"export GOMPY=/srv/{wheel.name}", "cd /srv/project", *job["before_script"], *job["script"]]
    try:
        with project(wheel) as (here, log):
            said = typed(here, log, "gitlab-ci.yml", "set -e\n" + "\n".join(lines))
    except tree.NoTree as reason:
        return f"not tried: {reason}"
    return asserted("gitlab-ci.yml", said)


def asserted(what: str, said: str) -> str:
    """The last that a job says is the program's output.  Raises Wrong."""
    if WANTED not in said:
        raise Wrong(f"{what}: {said[-2000:]}")
    return "ok"


def steps(places: Places, known: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The workflow's steps in order, those of the action in its place: a script and its variables."""
    action = loaded(places, RECIPES / "ci/action.yml")
    for step in loaded(places, RECIPES / "ci/github-workflow.yml")["jobs"]["offload"]["steps"]:
        if "run" in step:
            yield filled(step["run"], known), {}
        elif step["uses"].startswith("./"):
            given = {name: filled(text, known) for name, text in step.get("with", {}).items()}
            unknown = set(given) - set(action["inputs"])
            lacking = {name for name, about in action["inputs"].items() if about.get("required") == "true"} - set(given)
            if unknown or lacking:
                raise Wrong(f"action.yml: unknown inputs {sorted(unknown)}, lacking {sorted(lacking)}")
            inputs = {name: about.get("default", "") for name, about in action["inputs"].items()} | given
            words = known | {f"inputs.{name}": text for name, text in inputs.items()}
            for inner in action["runs"]["steps"]:
                yield filled(inner["run"], words), {k: filled(v, words) for k, v in inner.get("env", {}).items()}


def filled(text: str, known: dict[str, str]) -> str:
    """A text with GitHub's expressions replaced.  Raises Wrong for one that is not known."""

    def value(match: re.Match[str]) -> str:
        name = f"{match[1]}.{match[2]}"
        if name not in known:
            raise Wrong(f"an expression that is not known: {match[0]}")
        return known[name]

    return EXPRESSION.sub(value, text)


def by_github(places: Places, wheel: Path, sdist: Path) -> str:
    """The steps of GitHub's workflow and of the action, as its runner types them: a shell each, paths handed on."""
    every = list(steps(places, {"vars.GOMPY": f"/srv/{wheel.name}"}))
    try:
        with project(wheel) as (here, log):
            typed(here, log, "runner", f"apt-get update -qq && apt-get install -y -qq {' '.join(RUNNER)}")
            paths: list[str] = []
            said = ""
            for script, env in every:
                path = ":".join([*reversed(paths), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
                words = {**env, "PATH": path, "RUNNER_TEMP": "/tmp", "GITHUB_PATH": "/srv/github-path"}
                (here.root / "srv/github-path").write_text("")
                (here.root / "srv/step.sh").write_text(script)
                shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "/srv/step.sh"]
                status = here.run(shell, log, {"DEBIAN_FRONTEND": "noninteractive", **words}, "/srv/project")
                said = log.read_text(errors="replace")
                if status:
                    raise Wrong(f"{script.strip()}: status {status}: {said[-2000:]}")
                paths += (here.root / "srv/github-path").read_text().split()
    except tree.NoTree as reason:
        return f"not tried: {reason}"
    return asserted("github-workflow.yml", said)


def by_container(places: Places, wheel: Path, sdist: Path) -> str:
    """The container, built by buildah upon a fresh Debian 12, and a program in it."""
    if not shutil.which("buildah"):
        return "not tried: buildah is not installed"
    try:
        tree.check(SUITE)
        with tempfile.TemporaryDirectory(dir=tree.storage(), prefix="images-") as folder:
            return contained(places, Path(folder))
    except tree.NoTree as reason:
        return f"not tried: {reason}"


def contained(places: Places, folder: Path) -> str:
    """The same, with images below a folder.  Raises Wrong, NoTree."""
    buildah = ["buildah", "--root", folder / "root", "--runroot", folder / "run", "--storage-driver", "vfs"]
    env = {**places.env, **settings.environment(), "TMPDIR": str(folder)}
    with tree.made(SUITE) as here:
        seen = settings.put_into(here.root)
        base = places.run(*buildah, "from", "scratch", env=env).strip()
        places.run(*buildah, "add", "--quiet", base, here.root, "/", env=env)
        words = (f"--env={name}={value}" for name, value in settings.environment().items())
        places.run(*buildah, "config", *words, base, env=env)
        places.run(*buildah, "commit", "--quiet", base, IMAGE, env=env)
    volumes = [word for path in seen for word in ("--volume", f"{path}:{path}:ro")]
    alone = ["--isolation", "chroot", *volumes]
    build = [*buildah, "bud", "--pull-never", *alone, "--file", ROOT / "recipes/Containerfile", "--tag", "gompy"]
    places.run(*build, places.tree("context"), env=env)
    work = folder / "work"
    work.mkdir()
    shutil.copy(PROGRAM, work)
    made = places.run(*buildah, "from", "--pull-never", "gompy", env=env).strip()
    enter = [*buildah, "run", "--isolation", "chroot", "--volume", f"{work}:/work", made, "--"]
    places.run(*enter, "gompy", "doctor", env=env)
    places.run(*enter, "gompcc", "-O2", "-fopenmp", "hello.c", "-o", "hello", env=env)
    said = places.run(*enter, "./hello", env=env)
    return asserted("container", said)


def by_conda(places: Places, wheel: Path, sdist: Path) -> str:
    """Conda's recipe, read and rendered by rattler-build; its packages are not fetched."""
    python = places.python("conda")
    try:
        places.pip(python, "install", "py-rattler-build")
    except Wrong:
        return "not tried: pip finds no py-rattler-build"
    text = (
        "import sys; from rattler_build import Stage0Recipe\n"
        "for made in Stage0Recipe.from_file(sys.argv[1]).render():\n"
        "    about = made.recipe.to_dict(); print(about['package']['name'], about['package']['version'])\n"
    )
    said = places.run(python, "-c", text, RECIPES / "conda/recipe.yaml").split()
    if said != ["gompy", version()]:
        raise Wrong(f"conda: {said}")
    return "ok: read and rendered"
