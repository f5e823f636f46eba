"""How this machine reaches the network, for a tree: proxies, certificates, settings of apt and pip.

A tree has none of its own.  What a setting names on this machine's disk has to be seen in the tree as well.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

_VARIABLES = re.compile(
    r"(?:https?|ftp|all|no)_proxy|PIP_(?!CONFIG_FILE$|CACHE_DIR$).*|(?:SSL_CERT|REQUESTS_CA|CURL_CA|GIT_SSL_CA)[A-Z_]*",
    re.IGNORECASE,
)
_APT = re.compile(r"Acquire::(?:(?:https?|ftp)(?:::|\s)|Check-|Retries\b|ForceIPv[46]\b)")
_RETRIES = 'Acquire::Retries "3";'
"""A mirror that does not answer once is no fault of what is tested."""
_CERTIFICATES = Path("usr/local/share/ca-certificates")
_PATHS = re.compile(r"(?:^|\s)(?:file://)?(/[^\s,\"]+)")


def environment(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that a command in a tree gets: proxies, pip's, and where certificates are."""
    return {name: value for name, value in variables.items() if _VARIABLES.fullmatch(name)}


def proxies() -> dict[str, str]:
    """``http_proxy`` and ``https_proxy`` as apt has them, for debootstrap, which does not read apt's settings."""
    found = {}
    for line in apt():
        match = re.fullmatch(r'Acquire::(https?)::Proxy "([^"]+)";', line)
        if match and match[2] != "DIRECT":
            found[f"{match[1]}_proxy"] = match[2]
    return found


def apt() -> list[str]:
    """The lines of apt's settings about how to fetch: proxies, certificates, checks; none without apt."""
    if shutil.which("apt-config") is None:
        return []
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout
    return [line for line in dump.splitlines() if _APT.match(line) and not line.endswith(' "";')]


def pip_files(variables: Mapping[str, str] = os.environ) -> list[tuple[Path, str]]:
    """Pip's settings, with where they belong in a tree whose user is root; as pip looks for them."""
    home = Path(variables.get("HOME") or "/root")
    own = Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"
    shared = [Path(folder) / "pip/pip.conf" for folder in (variables.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")]
    places = [(path, "etc/xdg/pip/pip.conf") for path in shared]
    places += [(Path("/etc/pip.conf"), "etc/pip.conf"), (home / ".pip/pip.conf", "root/.pip/pip.conf")]
    places += [(own, "root/.config/pip/pip.conf")]
    if variables.get("PIP_CONFIG_FILE"):
        places = [(Path(variables["PIP_CONFIG_FILE"]), "root/.config/pip/pip.conf")]
    # Not Path.is_file, which raises where another user's folder may not be looked into.
    return [(path, place) for path, place in places if os.path.isfile(path) and os.access(path, os.R_OK)]


def named_paths(texts: Iterable[str]) -> list[Path]:
    """Files and folders of this machine that values of settings name, as paths or as ``file:`` addresses.

    Of an index of packages (``simple``, as PEP 503 names it) the folder above: it refers to packages beside it.
    """
    paths = (Path(unquote(match[1])) for text in texts for match in _PATHS.finditer(text))
    folders = (path.parent if path.name == "simple" else path for path in paths)
    return sorted({path for path in folders if path.exists() and path != Path("/")})


def _pip_values(path: Path) -> list[str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return []
    return [value for section in parser.sections() for _, value in parser.items(section)]


def put_into(tree: Path) -> list[Path]:
    """Write this machine's settings into a tree.  Returns the paths that they name and that the tree lacks."""
    values = list(environment().values())
    for path, place in pip_files():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tree / place)
        values += _pip_values(path)
    lines = [_RETRIES, *apt()]  # of two settings the later one holds
    (tree / "etc/apt/apt.conf.d").mkdir(parents=True, exist_ok=True)
    (tree / "etc/apt/apt.conf.d/90host").write_text("".join(f"{line}\n" for line in lines))
    values += [line.partition(" ")[2].strip('";') for line in lines]
    if ("/" / _CERTIFICATES).is_dir():
        shutil.copytree("/" / _CERTIFICATES, tree / _CERTIFICATES, dirs_exist_ok=True)
    for name in ("resolv.conf", "hosts"):
        if Path("/etc", name).is_file():
            shutil.copyfile(Path("/etc", name), tree / "etc" / name)
    return [path for path in named_paths(values) if not (tree / path.relative_to("/")).exists()]
