"""The process that libnvrtc starts: a request on its standard input, the answer on its standard output."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

from gompy.abi import nvrtc
from gompy.nvrtc import compile

RECORDS = nvrtc.RECORDS


def records(data: bytes) -> list[tuple[str, bytes]]:
    """The request's records: letter, bytes."""
    found, at = [], 0
    while at < len(data):
        begin = at + 1 + nvrtc.LENGTH_BYTES
        end = begin + int.from_bytes(data[at + 1 : begin], "little")
        found.append((chr(data[at]), data[begin:end]))
        at = end
    return found


def asked(data: bytes) -> compile.Program:
    """The program that a request has."""
    program, header = compile.Program("", b""), ""
    for letter, contents in records(data):
        text = contents.decode("utf-8", "surrogateescape")
        if letter == RECORDS["SOURCE"]:
            program.source = contents
        elif letter == RECORDS["NAME"]:
            program.name = text
        elif letter == RECORDS["OPTION"]:
            program.options.append(text)
        elif letter == RECORDS["HEADER_NAME"]:
            header = text
        elif letter == RECORDS["HEADER"]:
            program.headers.append((header, contents))
        elif letter == RECORDS["EXPRESSION"]:
            program.expressions.append(text)
    return program


def record(name: str, contents: bytes) -> bytes:
    """One of the answer's."""
    return RECORDS[name].encode() + len(contents).to_bytes(nvrtc.LENGTH_BYTES, "little") + contents


def told(answer: compile.Answer) -> bytes:
    """The answer's records; the result comes last."""
    parts = [record("LOG", answer.log.encode("utf-8", "surrogateescape")), record("PTX", answer.ptx)]
    parts += [record("LOWERED", name.encode("utf-8", "surrogateescape")) for name in answer.names]
    parts += [record("MACHINE", b"")] if answer.machine else []
    return b"".join([*parts, record("RESULT", str(nvrtc.RESULTS[answer.result]).encode())])


def main() -> int:
    """Answer one request."""
    with open(0, "rb", closefd=False) as file:
        program = asked(file.read())
    with open(1, "wb", closefd=False) as file:
        file.write(told(compile.compile_program(program)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
