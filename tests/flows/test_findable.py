"""Everything that a person would search a note by: names, tags, headings, links to it, where it comes from, signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.app import Lithos, open_lithos
from lithos.search import Where
from lithos.settings import LithosConfig
from tests.conftest import CallTool

FILLER = "Nothing here says any of these words; the text is about the weather of the coast and the sea."
FRONT = """---
aliases: [Zeppelin, "луна-парк"]
aka: Quagmire
also_known_as: [Wobbegong]
subtitle: the kerfuffle years
Short-Title: Flibbertigibbet
displayName: Gobbledygook
title_de: Wetterbericht
synonyms: [[Collywobbles]]
description: a lollygag by the shore
keywords: [widdershins]
tags: [xylophone, deep/nested-tag]
provenance: file:src/engine/flux_capacitor.py#L10-L20
source: https://example.org/papers/hypotenuse
---
# Weather of the coast

{filler}

## Ombudsman procedure

{filler} 🦜
"""
ASKED = {
    "Zeppelin": "an alias",
    "луна-парк": "an alias in another script",
    "Quagmire": "aka",
    "Wobbegong": "also_known_as",
    "kerfuffle": "subtitle",
    "Flibbertigibbet": "a name in another spelling of its key",
    "Gobbledygook": "a name in camel case",
    "Wetterbericht": "a title in another language",
    "Collywobbles": "a name in a list in a list",
    "lollygag": "a description",
    "widdershins": "a keyword",
    "xylophone": "a tag",
    "nested tag": "part of a tag",
    "Ombudsman": "a heading",
    "flux_capacitor": "a file of the provenance",
    "src/engine/flux_capacitor.py": "a path of the provenance",
    "fluxCapacitor": "another spelling of it",
    "hypotenuse": "an address",
    "🦜": "a sign",
    "coast-weather": "the file's name",
}


@pytest.fixture
def vault(config: LithosConfig) -> Path:
    folder = config.storage.data_dir / "knowledge"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def save(vault: Path, name: str, text: str) -> None:
    path = vault / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def found(call: CallTool, query: str, tool: str = "lithos_search") -> list[str]:
    return [hit["path"] for hit in call(tool, query=query)["results"]]


def scan(lithos: Lithos) -> None:
    lithos.notes.reindex()


def test_a_note_is_found_by_everything_that_names_it(vault: Path, call: CallTool) -> None:
    save(vault, "notes/coast-weather.md", FRONT.format(filler=FILLER))
    for number in range(3):
        save(vault, f"other-{number}.md", f"# Other {number}\n\nStorms, tides and a lighthouse, day {number}.\n")
    for query, what in ASKED.items():
        for tool in ("lithos_search", "lithos_recall"):
            assert found(call, query, tool)[0] == "notes/coast-weather.md", (what, tool)


def test_a_note_is_found_by_what_links_to_it_call_it(lithos: Lithos, vault: Path, call: CallTool) -> None:
    save(vault, "a.md", f"# Weather\n\n{FILLER}\n")
    save(vault, "b.md", f"# Tides\n\n{FILLER}\n")
    save(vault, "map.md", "# Map\n\nSee [[a|the zeppelin page]] and [quagmire notes](b.md).\n")
    scan(lithos)
    assert found(call, "zeppelin") == ["map.md", "a.md"] or found(call, "zeppelin") == ["a.md", "map.md"]
    assert "b.md" in found(call, "quagmire")
    save(vault, "map.md", "# Map\n\nSee [[b|the zeppelin page]].\n")  # the linking note changes
    scan(lithos)
    assert "a.md" not in found(call, "zeppelin") and "b.md" in found(call, "zeppelin")
    assert "b.md" not in found(call, "quagmire")
    (vault / "map.md").unlink()  # and goes
    scan(lithos)
    assert found(call, "zeppelin") == []


def test_names_from_links_follow_a_write_through_the_tools(call: CallTool) -> None:
    target = call("lithos_write", title="Weather", content=FILLER, agent="ann")
    linking = call("lithos_write", title="Map", content="See [[weather|the zeppelin page]].", agent="ann")
    assert target["path"] in found(call, "zeppelin")
    call("lithos_write", id=target["id"], content=f"{FILLER} More of it.", agent="ann")  # the target itself changes
    assert target["path"] in found(call, "zeppelin")
    call("lithos_write", id=linking["id"], content="See [[weather]].", agent="ann")
    assert found(call, "zeppelin") == []
    call("lithos_write", id=linking["id"], content="See [[weather|the zeppelin page]].", agent="ann")
    call("lithos_delete", id=linking["id"], agent="ann")
    assert found(call, "zeppelin") == []


def test_a_link_that_finds_its_note_later_names_it_then(lithos: Lithos, vault: Path, call: CallTool) -> None:
    save(vault, "map.md", "# Map\n\n[[later|the zeppelin page]]\n")
    scan(lithos)
    save(vault, "later.md", f"# Tides\n\n{FILLER}\n")
    scan(lithos)
    assert "later.md" in found(call, "zeppelin")
    (vault / "later.md").rename(vault / "elsewhere.md")
    scan(lithos)
    assert "elsewhere.md" not in found(call, "zeppelin")


def test_names_from_links_of_a_large_first_scan_survive_a_restart(config: LithosConfig, vault: Path) -> None:
    """More files than one portion: links are resolved after all were read."""
    save(vault, "a-target.md", f"# Weather\n\n{FILLER}\n")
    for number in range(300):
        save(vault, f"n/{number:03}.md", f"# Day {number}\n\nRain.\n")
    save(vault, "z-map.md", "# Map\n\n[[a-target|the zeppelin page]]\n")
    for _ in range(2):
        lithos = open_lithos(config)
        lithos.notes.reindex()
        hits = lithos.note_search.words("zeppelin", 5, Where())["results"]
        assert {hit["path"] for hit in hits} == {"a-target.md", "z-map.md"}
        assert lithos.notes.search_difference() == 0
        lithos.close()


@pytest.mark.parametrize("link", ["[[p5.js]]", "[[p5.js|sketches]]", "[[lib/p5.js]]", "[[P5.js.md]]"])
def test_a_link_named_like_a_file_leads_to_the_note_of_that_name(
    lithos: Lithos, vault: Path, call: CallTool, link: str
) -> None:
    save(vault, "lib/p5.js.md", "# p5\n\nA library.\n")
    save(vault, "map.md", f"# Map\n\n{link}, [[picture.png]] and ![[sound.mp3]]\n")
    scan(lithos)
    assert [each["path"] for each in call("lithos_links", id="map.md")["outgoing"]] == ["lib/p5.js.md"]
    links = call("lithos_read", path="map.md")["links"]
    assert [each["status"] for each in links] == ["resolved"]
    assert call("lithos_validate")["counts"].get("broken_links", 0) == 0


def test_an_attachment_becomes_a_link_when_a_note_of_its_name_appears(
    lithos: Lithos, vault: Path, call: CallTool
) -> None:
    save(vault, "map.md", "# Map\n\n[[node.js]] and [[Config.yaml]]\n")
    scan(lithos)
    assert call("lithos_read", path="map.md")["links"] == []
    save(vault, "runtime.md", "---\ntitle: Node.js\n---\ntext\n")
    save(vault, "config.yaml.md", "# Config\n\ntext\n")
    scan(lithos)
    outgoing = call("lithos_links", id="map.md")["outgoing"]
    assert {each["path"] for each in outgoing} == {"runtime.md", "config.yaml.md"}
