"""Configuration files of a stranger's repository. A small one must not keep the host busy: reading is bounded."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml

from lithos.habits.lenient_json import Unreadable

MOST_DOTS = 200  # in a key of TOML: tomllib takes time by the square of their number
LARGEST_YAML = 256 * 1024  # bytes; the parser reads some 100 kB a second
MOST_NODES = 100_000  # of YAML with every alias written out
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*+"|\'[^\']*\'')
_DEEP = "it is nested too deep"


def read_toml(data: bytes) -> dict[str, Any]:
    """Unreadable and tomllib's own error are ValueErrors."""
    text = data.decode("utf-8-sig", "replace")
    if any(line.count(".") > MOST_DOTS and _QUOTED.sub("", line).count(".") > MOST_DOTS for line in text.splitlines()):
        raise Unreadable(f"a key has more than {MOST_DOTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Unreadable(_DEEP) from None


class _Loader(yaml.SafeLoader):
    """`!reference` and other tags of CI systems are read as plain values."""


def _plain(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True) if isinstance(node, yaml.MappingNode) else None


_Loader.add_multi_constructor("!", _plain)


def read_yaml(data: bytes) -> Any:
    """One document. Aliases may repeat a text, but not until it is huge."""
    if len(data) > LARGEST_YAML:
        raise Unreadable(f"it has more than {LARGEST_YAML >> 10} kB")
    loader = _Loader(data.decode("utf-8-sig", "replace"))
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _size(node, {})
        return loader.construct_document(node)
    except RecursionError:
        raise Unreadable(_DEEP) from None
    finally:
        loader.dispose()


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes there are with every alias written out."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_NODES  # an alias inside of what it names would have no end
    inner = node.value if isinstance(node, yaml.CollectionNode) else ()
    parts = [part for pair in inner for part in pair] if isinstance(node, yaml.MappingNode) else inner
    size = 1 + sum(_size(each, known) for each in parts)
    if size > MOST_NODES:
        raise Unreadable(f"it has more than {MOST_NODES:,} values with its aliases")
    known[id(node)] = size
    return size
