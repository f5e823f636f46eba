"""OpenCL C kernels made of regions' JSON: loops over integers in C, else a reason why not (docs/opencl.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from gompy import UserError
from gompy.opencl.words import BUILTIN, IDENTITIES, MATH, PRELUDE, RESERVED, kernel_name
from gompy.regions.dump import split_clauses

if TYPE_CHECKING:
    Node = Any  # of tree_sitter, which may be missing

MARK: Final = "// Made by gompy of "
"""How a kernel begins that may be made again; one without it is somebody's work."""
_DIRECTIVE: Final = re.compile(r"#pragma omp ((?:target|teams|distribute|parallel|for|simd|loop|\s)+)(.*)$", re.DOTALL)
_CLAUSES: Final = frozenset(
    (
        *("map", "firstprivate", "shared", "default", "defaultmap", "reduction"),
        *("num_teams", "thread_limit", "num_threads", "schedule", "dist_schedule", "collapse", "order", "simdlen"),
        *("safelen", "nowait", "device", "depend", "if"),
    )
)


_WORDS: Final = frozenset(
    (
        *("struct", "union", "enum", "const", "volatile", "restrict", "unsigned", "signed"),
        *("char", "short", "int", "long", "float", "double", "_Bool", "bool", "void"),
    )
)
"""Of C's types."""


class NoKernelError(UserError):
    """Why a region has no generated kernel."""


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from _walk(child)


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def _parse(source: str) -> Node:
    """A statement's or function's tree.  Raises NoGrammarError of text.py."""
    from gompy.regions.text import tree

    return tree(source.encode(), "c")


def kernel(region: dict[str, Any], document: dict[str, Any]) -> str:
    """The kernel of a region.  Raises NoKernelError, with the reason."""
    if document["language"] not in ("c", "c++"):
        raise NoKernelError(f"it is {document['language']}, and kernels are made of C, and of C++ that is written as C")
    source, directive = region.get("expanded"), _DIRECTIVE.match(region.get("expanded_pragma", ""))
    if not source or directive is None:
        raise NoKernelError(region.get("no_text") or "its directive is not a combined target construct")
    words, clauses = directive[1].split(), split_clauses(directive[2].partition("//")[0])
    _check(words, clauses)
    names = {p["name"]: p for p in region["parameters"]}
    reductions = dict(_reductions(clauses))
    lines, renamed = _arguments(region, names, reductions)
    constants = _constants(document)
    functions = _functions(region, document, set(constants))
    for name in functions:
        renamed[name] = f"f_{name}"
    for name in constants:
        renamed.setdefault(name, f"k_{name}")
    loop = words != ["target"]
    collapse = next((int(value) for name, value in clauses if name == "collapse" and value.isdecimal()), 1)
    root = _parse(f"void region (void) {{ {source} }}")
    statements = [n for n in root.named_children[0].child_by_field_name("body").named_children if n.type != "comment"]
    if root.has_error or len(root.named_children) != 1 or len(statements) != 1:
        raise NoKernelError("its text is not one statement of C")
    statement = statements[0]
    _allowed(statement)
    _known(statement, set(names) | set(functions) | set(constants))
    if document["language"] == "c++":
        _plain(region, document, [statement, *(_parse(document["functions"][name]) for name in functions)])
    used = " ".join([_text(statement), *functions.values()])
    constants = {name: text for name, text in constants.items() if re.search(rf"\b(?:k_)?{name}\b", used)}
    functions = {**_math(statement, functions, document), **functions}
    if loop:
        body = _loops(statement, collapse, renamed)
    else:
        body = ["  if (get_global_id (0)) return;", f"  {_rewritten(statement, renamed)}"]
    ends = [_combine(name, operator, names) for name, operator in reductions.items()]
    types = _types(document, region)
    return "\n".join(
        [
            f"{MARK}{region['function']} ({region['file']}:{region['line']})",
            *(PRELUDE, *types, *constants.values(), *functions.values()),
            f"kernel void {kernel_name(region['function'])} (ulong at)",
            *("{", "  global ulong *words = (global ulong *) at;", *lines, *body, *ends, "}", ""),
        ]
    )


def _check(words: list[str], clauses: list[tuple[str, str]]) -> None:
    if words != ["target"] and not {"for", "simd", "loop", "distribute"} & set(words):
        raise NoKernelError(f"'{' '.join(words)}' without a loop")
    if "teams" in words and not {"distribute", "loop"} & set(words):
        raise NoKernelError("each team would run the whole loop")
    for name, value in clauses:
        if name not in _CLAUSES:
            raise NoKernelError(f"clause '{name}'")
        if name == "reduction" and "[" in value:
            raise NoKernelError("reduction of an array")


def _reductions(clauses: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in clauses:
        if name == "reduction":
            operator, _, variables = value.partition(":")
            if operator.strip() not in IDENTITIES:
                raise NoKernelError(f"reduction({operator.strip()})")
            for variable in variables.split(","):
                yield variable.strip(), operator.strip()


def _arguments(
    region: dict[str, Any], names: dict[str, Any], reductions: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Declarations of what the region is given; and how the text has to name it."""
    lines: list[str] = []
    renamed: dict[str, str] = {}
    for p in region["parameters"]:
        name, at = p["name"], f"words[{p['index']}]"
        if p.get("by") == "none":
            continue  # attach: the pointer in the structure is a device address already
        if re.fullmatch(r"\*?[A-Za-z_]\w*(?:(?:\.|->)\w+)+", name):
            continue  # reached by the structure's pointer
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or "type" not in p:
            raise NoKernelError(f"the type of '{name}' is not known")
        kind = _type(p["type"])
        local = f"v_{name}"
        renamed[name] = local
        base, _, extents = kind.partition("[")
        if p["by"] == "word" and "pointer" not in p:
            lines.append(f"  {kind} {local} = *(global {kind} *) &{at};")
        elif name in reductions and p["by"] != "reference":
            raise NoKernelError(f"'{name}' of the reduction is no object of the device")
        elif "pointer" in p and p["by"] != "reference":
            raise NoKernelError(f"'{name}' is a pointer to what is no object of the device")
        elif ("pointer" in p or extents) and not (_referred(name, region) and not extents):
            at = _biased(at, name, region) if "pointer" in p else at
            inner = "[" + extents.partition("]")[2].lstrip("[") if "][" in extents else ""
            shape = f"(*{local}){inner}" if inner else f"*{local}"
            cast = f"(global {base} (*){inner})" if inner else f"(global {base} *)"
            lines.append(f"  global {base} {shape} = {cast} {at};")
        elif name in reductions:
            if base not in ("int", "uint", "long", "ulong", "float", "double"):
                raise NoKernelError(f"reduction of {kind}")
            lines.append(f"  {kind} {local} = {IDENTITIES[reductions[name]](kind)};")
        elif p["numbers"][0] & 0x7F == 0x0C:  # GOMP_MAP_FIRSTPRIVATE: the region's own copy
            lines.append(f"  {kind} {local} = *(global {kind} *) {at};")
        else:
            lines.append(f"  global {kind} *p_{name} = (global {kind} *) {at};")
            renamed[name] = f"(*p_{name})"
    missing = [name for name in reductions if name not in names]
    if missing:
        raise NoKernelError(f"'{missing[0]}' of the reduction is no argument")
    return lines, renamed


def _referred(name: str, region: dict[str, Any]) -> bool:
    """Whether a name is a reference of C++, to an object."""
    if any(c.get("variable", "").startswith(f"*(*{name})") for c in region["clauses"]):
        raise NoKernelError(f"'{name}' is a reference to a pointer")
    found: dict[str, Any] = next((c for c in region["clauses"] if c.get("pointer") and c.get("variable") == name), {})
    return "ref" in str(found.get("kind", "")).split()


def _biased(at: str, name: str, region: dict[str, Any]) -> str:
    """The address that a pointer gets: a section's begin, less how far it is behind what the pointer points to."""
    bias = next((c.get("bias", "0") for c in region["clauses"] if c.get("pointer") and c.get("variable") == name), "0")
    if not bias.isdecimal():
        raise NoKernelError(f"the section of '{name}' begins at an expression")
    return f"({at} - {bias}ul)" if int(bias) else at


def _math(statement: Node, functions: dict[str, str], document: dict[str, Any]) -> dict[str, str]:
    """Functions of C's mathematics that are used, with C's types: OpenCL's go by their arguments' types."""
    own = set(document["functions"])
    texts = [statement, *(_parse(document["functions"][name]) for name in functions)]
    used = {_text(n) for node in texts for n in _walk(node) if n.type == "identifier"} - own
    return {name: MATH[name] for name in sorted(used & set(MATH))}


def _type(text: str) -> str:
    """A type of C in OpenCL's words."""
    if "long double" in text or "complex" in text:
        raise NoKernelError(f"type '{text}'")
    if "…" in text:
        raise NoKernelError("a structure or union without a name")
    text = re.sub(r"\b(?:const|volatile|restrict)\b ?", "", text)
    for old, new in (
        ("long long unsigned int", "ulong"),
        ("long unsigned int", "ulong"),
        ("long long int", "long"),
        ("long int", "long"),
        ("short unsigned int", "ushort"),
        ("short int", "short"),
        ("unsigned int", "uint"),
        ("unsigned char", "uchar"),
        ("_Bool", "bool"),
    ):
        text = text.replace(old, new)
    return text.strip()


def _types(document: dict[str, Any], region: dict[str, Any]) -> list[str]:
    """The types of the unit that are no system's, with pointers into global memory."""
    used = " ".join(
        [region["expanded"], *document["functions"].values(), *(p.get("type", "") for p in region["parameters"])]
    )
    found = []
    for name, text in document["types"].items():
        if name.rpartition(" ")[2] in BUILTIN or not re.search(rf"\b{re.escape(name.rpartition(' ')[2])}\b", used):
            continue
        root = _parse(text if text.rstrip().endswith(";") else f"{text};")
        if root.has_error:
            raise NoKernelError(f"the text of '{name}' is none of C")
        found.append(_rewritten(root, {}))
        if document["language"] == "c++" and " " in name:
            found.append(f"typedef {name} {name.partition(' ')[2]};")
    return found


def _constants(document: dict[str, Any]) -> dict[str, str]:
    """The constants of the unit that have numbers for values, as OpenCL C has them."""
    found = {}
    for name, text in document.get("constants", {}).items():
        node = _parse(text).named_children[0]
        kinds = {inner.type for inner in _walk(node)}
        names = [_text(inner) for inner in _walk(node) if inner.type == "identifier"]
        if names == [name] and not kinds & {"pointer_declarator", "string_literal", "ERROR"}:
            head, equals, value = _rewritten(node, {}).partition("=")
            head = re.sub(r"\b(?:static|extern|const|volatile)\s+", "", re.sub(rf"\b{name}\b", f"k_{name}", head))
            found[name] = f"constant {head}{equals}{value}"
    return found


def _functions(region: dict[str, Any], document: dict[str, Any], constants: set[str]) -> dict[str, str]:
    """The functions that the region calls, as OpenCL C."""
    wanted, found = list(region["calls"]), {}
    texts: dict[str, str] = document["functions"]
    names = {**{name: f"k_{name}" for name in constants}, **{name: f"f_{name}" for name in texts}}
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in texts:
            continue
        seen.add(name)
        root = _parse(texts[name])
        found_here = [child for child in root.named_children if child.type == "function_definition"]
        if len(found_here) > 1:
            raise NoKernelError(f"several functions have the name '{name}'")
        if not found_here or root.has_error:
            raise NoKernelError(f"the text of '{name}' is none of C")
        node = found_here[0]
        _allowed(node, returns=True)
        called = [_text(c.child_by_field_name("function")) for c in _walk(node) if c.type == "call_expression"]
        if name in called:
            raise NoKernelError(f"'{name}' calls itself")
        _known(node, set(texts) | constants)
        wanted += called
        found[name] = re.sub(r"^(?:(?:static|inline|extern|__inline__|__inline)\s+)+", "", _rewritten(node, names))
    return {name: found[name] for name in texts if name in found}


_FORBIDDEN: Final = {
    "preproc_call": "a directive within the loop",
    "string_literal": "a string",
    "goto_statement": "goto",
    "gnu_asm_expression": "asm",
    "ERROR": "text that is not understood",
    "static": "a static variable",
}


def _allowed(node: Node, returns: bool = False) -> None:
    """Refuse what a kernel cannot have."""
    for inner in _walk(node):
        if inner.type in _FORBIDDEN and not (inner.type == "preproc_call" and "omp simd" in _text(inner)):
            raise NoKernelError(_FORBIDDEN[inner.type])
        if inner.type == "return_statement" and not returns:
            raise NoKernelError("return")
        if inner.type == "storage_class_specifier" and not returns:
            raise NoKernelError("a static variable")


def _plain(region: dict[str, Any], document: dict[str, Any], texts: list[Node]) -> None:
    """Refuse what C++ has, or means otherwise, though its text could be C's."""
    types = {name.removeprefix("struct ").removeprefix("union ").removeprefix("enum ") for name in document["types"]}
    for inner in (inner for text in texts for inner in _walk(text)):
        name = _text(inner)
        if inner.type == "type_identifier" and name not in types | BUILTIN:
            raise NoKernelError(f"type '{name}' is a template's, a class, or declared in another file")
        called = _text(inner.child_by_field_name("function")) if inner.type == "call_expression" else ""
        if called in MATH and not called.endswith("f") and called != "omp_is_initial_device":
            raise NoKernelError(f"'{called}' goes by the types of its arguments in C++: {called}f would do")
    for p in region["parameters"]:
        named = set(re.findall(r"[A-Za-z_]\w*", p.get("type", ""))) - _WORDS
        if unknown := sorted(named - types - BUILTIN):
            raise NoKernelError(f"type '{unknown[0]}' is a class, or declared in another file")


def _known(node: Node, names: set[str]) -> None:
    """Refuse names that are neither arguments nor declared within, nor OpenCL's functions."""
    declared: set[str] = set()
    for inner in _walk(node):
        if inner.type in ("declaration", "parameter_declaration", "function_declarator"):
            for child in inner.children_by_field_name("declarator"):
                declared.add(_text(next((n for n in _walk(child) if n.type == "identifier"), None)))
    for inner in _walk(node):
        name = _text(inner)
        if inner.type == "identifier" and name not in names | declared and name not in BUILTIN | set(MATH):
            raise NoKernelError(f"'{name}' is declared outside of the region, or its text is in another file")


def _rewritten(node: Node, renamed: dict[str, str]) -> str:
    """A node's text with names replaced, and pointers that it declares put into global memory."""
    edits: list[tuple[int, int, str]] = []
    declared_here = {
        _text(next((n for n in _walk(child) if n.type == "identifier"), None))
        for inner in _walk(node)
        if inner.type in ("declaration", "parameter_declaration")
        for child in inner.children_by_field_name("declarator")
    }
    for inner in _walk(node):
        text = _text(inner)
        if inner.type == "identifier":
            new = f"c_{text}" if text in MATH else text
            if text in renamed and (text not in declared_here or renamed[text].startswith("f_")):
                new = renamed[text]
            elif text in RESERVED:
                new = f"{text}_"
            if new != text:
                edits.append((inner.start_byte, inner.end_byte, new))
        elif inner.type in ("declaration", "parameter_declaration", "field_declaration", "type_descriptor"):
            declarators = inner.children_by_field_name("declarator")
            if any((_inner(child) or child).type.endswith("pointer_declarator") for child in declarators):
                edits.append((inner.start_byte, inner.start_byte, "global "))
        elif inner.type == "sized_type_specifier":
            new = _type(_sized(text))
            edits.append((inner.start_byte, inner.end_byte, new))
    root_start = node.start_byte
    data = node.text
    for start, end, new in sorted(edits, reverse=True):
        data = data[: start - root_start] + new.encode() + data[end - root_start :]
    return re.sub(r"\b(?:__restrict(?:__)?|restrict|__extension__)\b", "", data.decode("utf-8", "replace"))


def _inner(node: Node) -> Node | None:
    """What a declarator with a value declares."""
    return node.child_by_field_name("declarator") if node.type == "init_declarator" else None


def _sized(text: str) -> str:
    """``unsigned long`` and the like in DWARF's words."""
    words = text.split()
    unsigned = "unsigned" in words
    for size in ("long", "short", "char"):
        if size in words:
            if "double" in words:
                return "long double"
            return (
                {"long": "long unsigned int", "short": "short unsigned int", "char": "unsigned char"}[size]
                if unsigned
                else {"long": "long int", "short": "short int", "char": "char"}[size]
            )
    return "unsigned int" if unsigned else "int"


def _loops(statement: Node, collapse: int, renamed: dict[str, str]) -> list[str]:
    """The loop over all iterations of the nest, each work item taking every n-th."""
    lines: list[str] = []
    heads: list[tuple[str, str, str, str]] = []  # type, variable, first value, step
    node: Node | None = statement
    inner_names: set[str] = set()
    for depth in range(collapse):
        while node is not None and node.type == "compound_statement" and len(node.named_children) == 1:
            node = node.named_children[0]
        if node is None or node.type != "for_statement":
            raise NoKernelError("no loop behind the directive" if not depth else "collapse of loops with code between")
        kind, name, first, count, step = _canonical(node, renamed, inner_names)
        if name in renamed:
            raise NoKernelError(f"the loop's variable '{name}' has an argument's name")
        heads.append((kind, name, first, step))
        inner_names.add(name)
        lines.append(f"  long n_{depth} = {count};")
        node = node.child_by_field_name("body")
    if any(inner.type == "break_statement" for inner in _own(node)):
        raise NoKernelError("break")
    total = " * ".join(f"max (n_{depth}, 0L)" for depth in range(collapse))
    lines += [f"  long total = {total};"]
    lines += [
        "  for (long at_ = get_global_id (0); at_ < total; at_ += get_global_size (0))",
        "    {",
        "      long rest_ = at_;",
    ]
    for depth in reversed(range(collapse)):
        kind, name, first, step = heads[depth]
        index = f"(rest_ % n_{depth})" if depth else "rest_"
        lines.append(f"      {kind} {name} = ({first}) + {index} * ({step});")
        if depth:
            lines.append(f"      rest_ /= n_{depth};")
    # A body of one pass, so that continue ends it.
    lines += ["      for (int once_ = 0; once_ < 1; once_++)", f"        {_rewritten(node, renamed)}", "    }"]
    return lines


def _own(node: Node | None) -> Iterator[Node]:
    """The statements of a loop's body, less those of loops and switches within."""
    if node is None:
        return
    yield node
    for child in node.named_children:
        if child.type not in ("for_statement", "while_statement", "do_statement", "switch_statement"):
            yield from _own(child)


def _canonical(node: Node, renamed: dict[str, str], outer: set[str]) -> tuple[str, str, str, str, str]:
    """A loop's type, variable, first value, count and step (OpenMP 5.2, 4.4.1)."""
    start, condition, update = (node.child_by_field_name(name) for name in ("initializer", "condition", "update"))
    head = re.fullmatch(r"((?:\w+\s+)+)(\w+)\s*=\s*(.+?);?", _text(start), re.DOTALL)
    if head is None or start.type != "declaration":
        raise NoKernelError("a loop whose variable is declared outside of it")
    kind, name = _type(head[1].strip()), head[2]
    if any(outer & {_text(n) for n in _walk(part) if n.type == "identifier"} for part in (start, condition)):
        raise NoKernelError("a loop whose bounds depend on an outer loop")
    first = _rewritten(start, renamed).partition("=")[2].strip().rstrip(";")
    test = re.fullmatch(rf"{name}\s*(<=|>=|<|>|!=)\s*(.+)", _rewritten(condition, renamed), re.DOTALL)
    step_text = _rewritten(update, renamed).replace(" ", "")
    step = {f"{name}++": "1", f"++{name}": "1", f"{name}--": "-1", f"--{name}": "-1"}.get(step_text)
    if step is None and (match := re.fullmatch(rf"{name}([+-])=(.+)|{name}={name}([+-])(.+)", step_text)):
        step = f"{'-' if '-' in (match[1], match[3]) else ''}({match[2] or match[4]})"
    if test is None or step is None:
        raise NoKernelError(f"a loop that is not canonical: {_text(condition)}; {_text(update)}")
    end = test[2]
    if test[1] in ("<=", ">="):
        end = f"({end}) {'+' if test[1] == '<=' else '-'} 1"
    down = test[1] in (">", ">=") or step == "-1"
    span = f"((long) ({first}) - (long) ({end}))" if down else f"((long) ({end}) - (long) ({first}))"
    width = f"(-({step}))" if down else f"({step})"
    return kind, name, first, f"({span} + {width} - 1) / {width}", step


def _combine(name: str, operator: str, names: dict[str, Any]) -> str:
    """Each work item's value of a reduction into the variable."""
    p = names[name]
    kind = _type(p["type"])
    size = "long" if kind in ("long", "ulong", "double") else "int"
    unsigned = f"u{size}"
    if operator in ("min", "max"):
        joined = f"{operator} (was_, v_{name})" if kind not in ("float", "double") else f"f{operator} (was_, v_{name})"
    else:
        joined = f"was_ {operator} v_{name}"
    atomic = "atom_cmpxchg" if size == "long" else "atomic_cmpxchg"
    pointer = f"volatile global {unsigned} *"
    return "\n".join(
        [
            "  {",
            f"    {pointer}to_ = ({pointer}) words[{p['index']}];",
            f"    {unsigned} old_, seen_ = *to_;",
            "    do",
            "      {",
            "        old_ = seen_;",
            f"        {kind} was_ = as_{kind} (old_);",
            f"        {kind} new_ = {joined};",
            f"        seen_ = {atomic} (to_, old_, as_{unsigned} (new_));",
            "      }",
            "    while (seen_ != old_);",
            "  }",
        ]
    )
