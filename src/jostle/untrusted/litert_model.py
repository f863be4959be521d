"""What must be true of a stranger's `.tflite` before an interpreter opens it.

It is a flatbuffer: tables that point at each other by offsets, which interpreters follow without looking where they
lead. Its built-in operators compute and nothing else. Custom ones are another library's, those of the Flex delegate are
any of TensorFlow, those that read files among them, and buffers may lie in other files; all these are refused.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

from jostle.untrusted.files import read_bounded

SIZE_LIMIT = 4 * 2**30  # bytes
COUNT_LIMIT = 1_000_000  # tables in one list
ELEMENT_LIMIT = 2**34  # numbers in one tensor
IDENTIFIER = b"TFL3"
CUSTOM = 32  # the code that stands for a custom operator
# Custom operators that the interpreter itself brings, which compute and nothing else.
OWN = ("TFLite_Detection_PostProcess", "AudioSpectrogram", "Mfcc")
# Numbers of the fields that are read, by the order in TensorFlow's schema.fbs.
MODEL_CODES, MODEL_GRAPHS, MODEL_BUFFERS, MODEL_OUTSIDE = 1, 2, 4, (8, 9)
CODE_OLD, CODE_NAME, CODE_NEW = 0, 1, 3
GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS = 0, 1, 2, 3
TENSOR_SHAPE, TENSOR_BUFFER, TENSOR_OUTSIDE = 0, 2, 10
OPERATOR_CODE, OPERATOR_INDICES, OPERATOR_OPTIONS, OPERATOR_LARGE = 0, (1, 2, 8), 5, (9, 10)
BUFFER_DATA, BUFFER_PLACE = 0, (1, 2)


def checked_litert(path: Path) -> bytes:
    """The content of a `.tflite` that an interpreter may open; ValueError says why it may not."""
    content = read_bounded(path, SIZE_LIMIT)
    if content[4:8] != IDENTIFIER:
        raise ValueError("it is not a LiteRT model; export it again")
    try:
        _check_model(content)
    except struct.error as error:
        raise ValueError("it is damaged: a part of it lies outside of the file; export it again") from error
    return content


def _check_model(content: bytes) -> None:
    model = _Table(content, _at(content, "<I", 0))
    if any(model.place(field) is not None for field in MODEL_OUTSIDE):
        raise ValueError("it keeps numbers in other files")
    operators = model.tables(MODEL_CODES)
    _check_operators(operators)
    buffers, graphs = model.tables(MODEL_BUFFERS), model.tables(MODEL_GRAPHS)
    for buffer in buffers:
        buffer.vector(BUFFER_DATA, "B")
        _check_place(buffer, BUFFER_PLACE)
    if not graphs:
        raise ValueError("it is not a LiteRT model: it has no graph; export it again")
    for graph in graphs:
        _check_graph(graph, len(operators), len(buffers))


def _check_operators(codes: list[_Table]) -> None:
    """All are built in."""
    named = [code.text(CODE_NAME) for code in codes if _number(code) == CUSTOM]
    custom = [name for name in named if name not in OWN]
    if custom:
        names = ", ".join(repr(name[:100]) for name in custom[:3])
        kind = "TensorFlow's, which may read files" if custom[0].startswith("Flex") else "not LiteRT's own"
        raise ValueError(f"it has the operators {names}, which are {kind}: convert it with built-in operators only")


def _number(code: _Table) -> int:
    """Of an operator, as TensorFlow counts them."""
    return max(code.number(CODE_OLD, "b"), code.number(CODE_NEW, "i"))


def _check_graph(graph: _Table, operators: int, buffers: int) -> None:
    """All of it speaks of tensors, operators and buffers that are there."""
    tensors = graph.tables(GRAPH_TENSORS)
    for tensor in tensors:
        _check_tensor(tensor, buffers)
    ends = (graph.vector(field, "i") for field in (GRAPH_INPUTS, GRAPH_OUTPUTS))
    steps = graph.tables(GRAPH_OPERATORS)
    used = (step.vector(field, "i") for step in steps for field in OPERATOR_INDICES)
    if any(not -1 <= index < len(tensors) for indices in (*ends, *used) for index in indices):
        raise ValueError("it is damaged: an operator uses a tensor that is not there; export it again")
    for step in steps:
        if step.number(OPERATOR_CODE, "I") >= operators:
            raise ValueError("it is damaged: it uses an operator that is not there; export it again")
        step.vector(OPERATOR_OPTIONS, "B")
        _check_place(step, OPERATOR_LARGE)


def _check_tensor(tensor: _Table, buffers: int) -> None:
    if tensor.number(TENSOR_OUTSIDE, "I"):
        raise ValueError("it keeps numbers in other files")
    if tensor.number(TENSOR_BUFFER, "I") >= buffers:
        raise ValueError("it is damaged: a tensor has a buffer that is not there; export it again")
    shape = tensor.vector(TENSOR_SHAPE, "i")
    if min(shape, default=0) < -1 or len(shape) > 64 or math.prod(map(abs, shape)) > ELEMENT_LIMIT:
        raise ValueError(f"it has a tensor of the shape {[*shape[:8]]}, which cannot be")


def _check_place(table: _Table, fields: tuple[int, int]) -> None:
    """What lies behind the tables, in files of more than two gigabytes."""
    offset, size = (table.number(field, "Q") for field in fields)
    if offset > 1 and offset + size > len(table.content):
        raise ValueError("it is damaged: a part of it lies outside of the file; export it again")


def _at(content: bytes, form: str, place: int) -> int:
    """The number at a place; struct.error where the file has none."""
    if place < 0:
        raise struct.error("before the start")
    return int(struct.unpack_from(form, content, place)[0])


@dataclass(frozen=True)
class _Table:
    """A table at a place in the file; struct.error where what it says leads out of the file."""

    content: bytes
    at: int

    def place(self, field: int) -> int | None:
        """Where the value of a field is, None if the table leaves it out."""
        fields = self.at - _at(self.content, "<i", self.at)
        if 4 + 2 * field + 2 > _at(self.content, "<H", fields):
            return None
        offset = _at(self.content, "<H", fields + 4 + 2 * field)
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        place = self.place(field)
        return 0 if place is None else _at(self.content, f"<{form}", place)

    def vector(self, field: int, form: str) -> tuple[int, ...] | bytes:
        """A list of numbers; bytes stay as they are."""
        place = self.place(field)
        if place is None:
            return b"" if form == "B" else ()
        start = place + _at(self.content, "<I", place)
        count = _at(self.content, "<I", start)
        if start + 4 + count * struct.calcsize(f"<{form}") > len(self.content):
            raise struct.error("after the end")
        if form == "B":
            return self.content[start + 4 : start + 4 + count]
        return struct.unpack_from(f"<{count}{form}", self.content, start + 4)

    def text(self, field: int) -> str:
        return bytes(self.vector(field, "B")).decode(errors="replace")

    def tables(self, field: int) -> list[_Table]:
        offsets = self.vector(field, "I")
        if not offsets:
            return []
        if len(offsets) > COUNT_LIMIT:
            raise ValueError(f"it has more than {COUNT_LIMIT} tables in one list")
        place = self.place(field) or 0
        start = place + _at(self.content, "<I", place) + 4
        return [_Table(self.content, start + 4 * number + offset) for number, offset in enumerate(offsets)]
