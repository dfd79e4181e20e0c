"""A tiny ONNX file, written by hand: a reranker of no sense but a known one, without the package onnx."""

from __future__ import annotations

from pathlib import Path

INT64, FLOAT = 7, 1


def write_reranker(path: Path) -> None:
    """Of a pair (question, passage) the sum of the numbers of the passage's tokens."""
    nodes = [
        _node("Mul", ["input_ids", "token_type_ids"], "of_the_passage"),
        _node("Cast", ["of_the_passage"], "as_float", _text(1, "to") + _number(3, FLOAT) + _number(20, 2)),
        _node("ReduceSum", ["as_float"], "logits"),
    ]
    inputs = [_value(name, INT64, ("batch", "tokens")) for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = b"".join(_part(1, node) for node in nodes) + _text(2, "reranker")
    graph += b"".join(_part(11, each) for each in inputs) + _part(12, _value("logits", FLOAT, ("batch", "one")))
    opset = _part(8, _text(1, "") + _number(2, 13))
    path.write_bytes(_number(1, 8) + opset + _part(7, graph))


def _node(kind: str, inputs: list[str], output: str, attribute: bytes = b"") -> bytes:
    named = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, kind)
    return named + (_part(5, attribute) if attribute else b"")


def _value(name: str, kind: int, shape: tuple[str, ...]) -> bytes:
    dimensions = b"".join(_part(1, _text(2, each)) for each in shape)
    return _text(1, name) + _part(2, _part(1, _number(1, kind) + _part(2, dimensions)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _part(field, value.encode())


def _part(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])
