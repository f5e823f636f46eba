"""Which file of a compiled library uses what another file of it defines.

The files are parsed by Cython's own parser, so that local names, attributes and strings are not mistaken for uses.
The order in which a library includes its files is the order of its layers: the first is the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from Cython.Compiler import Errors, ExprNodes, Nodes, Parsing
from Cython.Compiler.Main import CompilationOptions, Context
from Cython.Compiler.ModuleNode import ModuleNode
from Cython.Compiler.Scanning import FileSourceDescriptor, PyrexScanner

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Use:
    """One place where a file names what another file defines."""

    source: str
    line: int
    name: str
    target: str


@dataclass(frozen=True)
class Library:
    """A library's files in the order of their inclusion, and the uses between them."""

    order: tuple[str, ...]
    uses: tuple[Use, ...]

    def upward(self) -> list[Use]:
        """The uses of what a later file defines."""
        place = {name: index for index, name in enumerate(self.order)}
        return [use for use in self.uses if place[use.target] > place[use.source]]


@cache
def parse(pyx: Path) -> Nodes.Node:
    """The syntax tree of a .pyx file with all that it includes."""
    Errors.init_thread()
    context = Context.from_options(CompilationOptions(include_path=[str(pyx.parent)], language_level=3))
    source = FileSourceDescriptor(str(pyx))
    module = context.find_module(pyx.stem, pos=(source, 1, 0), need_pxd=False)
    with pyx.open(encoding="utf-8") as text:
        scanner = PyrexScanner(text, source, source_encoding="utf-8", scope=module, context=context)
        return Parsing.p_module(scanner, None, pyx.stem)


def children(node: Nodes.Node) -> list[Nodes.Node]:
    """The nodes right below a node."""
    found: list[Nodes.Node] = []
    for attribute in node.child_attrs or ():
        child = getattr(node, attribute, None)
        if isinstance(child, list):
            found += [item for item in child if isinstance(item, Nodes.Node)]
        elif isinstance(child, Nodes.Node):
            found.append(child)
    return found


def declared(declarator: Any) -> str:
    """The name in a C declarator: `*x[4]` and `f(int)` have one each."""
    while not isinstance(declarator, Nodes.CNameDeclaratorNode):
        declarator = declarator.base
    return str(declarator.name)


def default_of(declarator: Any) -> object:
    """The initialiser of a C declarator, or None."""
    while not isinstance(declarator, Nodes.CNameDeclaratorNode):
        declarator = declarator.base
    return declarator.default


def definitions(node: Nodes.Node, folder: Path, found: dict[str, str]) -> None:
    """Collect what is defined at module level: name to file; the first definition counts."""

    def add(name: str | None) -> None:
        if name:
            found.setdefault(name, file_of(node, folder))

    if isinstance(node, Nodes.CDefExternNode | Nodes.FromCImportStatNode):
        return  # another library's
    if isinstance(node, Nodes.CFuncDefNode):
        add(declared(node.declarator))
    elif isinstance(node, Nodes.DefNode | Nodes.CStructOrUnionDefNode | Nodes.CClassDefNode | Nodes.CEnumDefNode):
        add(getattr(node, "name", None) or getattr(node, "class_name", None))
        if isinstance(node, Nodes.CEnumDefNode):
            for item in node.items:
                add(item.name)
    elif isinstance(node, Nodes.CTypeDefNode):
        add(declared(node.declarator))
    elif isinstance(node, Nodes.CVarDefNode):
        for declarator in node.declarators:
            add(declared(declarator))
    elif isinstance(node, Nodes.StatListNode | ModuleNode):
        for child in children(node):
            definitions(child, folder, found)


def locals_of(node: Nodes.Node, found: set[str]) -> None:
    """Collect a function's own names: parameters and declared variables."""
    if isinstance(node, Nodes.CArgDeclNode | Nodes.CVarDefNode):
        for declarator in getattr(node, "declarators", None) or [node.declarator]:
            found.add(declared(declarator))
    for child in children(node):
        locals_of(child, found)


def uses(node: Nodes.Node, folder: Path, defined: dict[str, str], own: frozenset[str], found: set[Use]) -> None:
    """Collect uses of module-level names of other files below a node."""
    if isinstance(node, Nodes.FuncDefNode):
        names: set[str] = set()
        locals_of(node, names)
        own = own | names
    name = None
    if isinstance(node, ExprNodes.NameNode):
        name = str(node.name)
    elif isinstance(node, Nodes.CSimpleBaseTypeNode) and not node.module_path:
        name = node.name and str(node.name)
    if name and name not in own and name in defined:
        file = file_of(node, folder)
        if defined[name] != file:
            found.add(Use(file, node.pos[1], name, defined[name]))
    for child in children(node):
        uses(child, folder, defined, own, found)


@dataclass(frozen=True)
class Function:
    """A C function that a library's file defines, and how many lines it has."""

    file: str
    line: int
    name: str
    lines: int
    public: bool


def last_line(node: Nodes.Node, file: str) -> int:
    """The last line of a file on which something below a node begins."""
    own = node.pos[1] if node.pos and node.pos[0].filename == file else 0
    return max([own, *(last_line(child, file) for child in children(node))])


def functions(source: str) -> list[Function]:
    """The C functions of a library, named by its .pyx file below the root."""
    pyx = ROOT / source
    found = []

    def collect(node: Nodes.Node) -> None:
        if isinstance(node, Nodes.CFuncDefNode):
            line = node.pos[1]
            lines = last_line(node, node.pos[0].filename) - line + 1
            name = declared(node.declarator)
            found.append(Function(file_of(node, pyx.parent), line, name, lines, node.visibility == "public"))
        elif isinstance(node, Nodes.StatListNode | ModuleNode):
            for child in children(node):
                collect(child)

    collect(parse(pyx))
    return found


def file_of(node: Nodes.Node, folder: Path) -> str:
    """The file that a node stands in."""
    return label(Path(node.pos[0].filename), folder)


def label(path: Path, folder: Path) -> str:
    """A file's path in its library's folder; of one that stands elsewhere, its name."""
    path, folder = path.resolve(), folder.resolve()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name


def included(path: Path, folder: Path | None = None) -> list[str]:
    """The files that a file includes, each after those that it includes itself, and the file at the end."""
    folder = folder or path.parent
    names: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith('include "'):
            names += included(folder / line.split('"')[1], folder)
    return [*names, label(path, folder)]


def library(source: str) -> Library:
    """The graph of one library, named by its .pyx file below the root."""
    pyx = ROOT / source
    tree = parse(pyx)
    defined: dict[str, str] = {}
    definitions(tree, pyx.parent, defined)
    found: set[Use] = set()
    uses(tree, pyx.parent, defined, frozenset(), found)
    order = included(pyx)
    for use in found:
        for name in (use.source, use.target):
            assert name in order, f"{source}: {name} is included by another file than {pyx.name}"
    return Library(tuple(order), tuple(sorted(found, key=lambda use: (use.source, use.line, use.name))))
