"""A vault written by hand with every kind of link and file, and the graph that it must give."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.app import Lithos, open_lithos
from lithos.errors import InvalidInput
from lithos.settings import LithosConfig
from tests.conftest import CallTool
from tests.support.notes_bench import assert_index_is_true

FIXTURE = Path(__file__).parent.parent / "fixtures" / "vault"

GRAPH = {
    "Index.md": [
        *["Alpha.md"] * 4,
        *["projects/Beta.md"] * 3,
        "Alpha.md",
        "Gamma ray.md",
        "東京.md",
        "Alpha.md",
        "projects/Delta.md",
        "Alpha.md",
        "broken: Future note",
        "ambiguous: archive/Same.md people/Same.md",
        "people/Same.md",
        "Alpha.md",
        "projects/Beta.md",
        *["Gamma ray.md"] * 2,
        "Alpha.md",
    ],
    "Alpha.md": ["Index.md", "projects/Beta.md", "Alpha.md"],
    "projects/Beta.md": [
        "Alpha.md",
        "Index.md",
        "Alpha.md",
        *["projects/Delta.md"] * 2,
        "ambiguous: projects/Delta.md 東京.md",
    ],
    "projects/Delta.md": ["projects/Beta.md", "broken: nowhere.md"],
    "Gamma ray.md": ["東京.md"],
    "東京.md": ["Alpha.md"],
    "people/Same.md": ["Alpha.md"],
    "archive/Same.md": [],
    "archive/Broken.md": ["Alpha.md"],
    "archive/Windows.md": ["Alpha.md"],
}


@pytest.fixture
def lithos(config: LithosConfig, data_dir: Path) -> Iterator[Lithos]:
    shutil.copytree(FIXTURE, data_dir / "knowledge")
    opened = open_lithos(config)
    yield opened
    assert_index_is_true(opened)
    opened.close()


def test_every_link_leads_where_the_table_says(lithos: Lithos, call: CallTool) -> None:
    listed = call("lithos_list", limit=1000)["items"]
    paths = {item["id"]: item["path"] for item in listed}
    assert sorted(paths.values()) == sorted(GRAPH)
    for path, expected in GRAPH.items():
        found = []
        for link in call("lithos_read", path=path)["links"]:
            if link["status"] == "resolved":
                found.append(paths[link["id"]])
            elif link["status"] == "ambiguous":
                found.append("ambiguous: " + " ".join(link["candidates"]))
            else:
                found.append(f"broken: {link['target']}")
        assert found == expected, path


def test_links_go_both_ways_and_are_listed_once(call: CallTool) -> None:
    alpha = call("lithos_read", path="Alpha")
    found = call("lithos_links", id=alpha["id"])
    assert [each["path"] for each in found["outgoing"]] == ["Index.md", "projects/Beta.md"]
    incoming = [each["path"] for each in found["incoming"]]
    expected = sorted(path for path, links in GRAPH.items() if "Alpha.md" in links and path != "Alpha.md")
    assert sorted(incoming) == expected
    assert call("lithos_links", id=alpha["id"], direction="incoming")["outgoing"] == []


def test_depth_reaches_further_and_nearest_come_first(call: CallTool) -> None:
    gamma = call("lithos_read", path="Gamma ray")
    reached = [
        [each["path"] for each in call("lithos_links", id=gamma["id"], direction="outgoing", depth=depth)["outgoing"]]
        for depth in (1, 2, 3)
    ]
    assert reached == [["東京.md"], ["東京.md", "Alpha.md"], ["東京.md", "Alpha.md", "Index.md", "projects/Beta.md"]]


def test_not_one_byte_of_an_existing_vault_changes_until_someone_writes(lithos: Lithos, call: CallTool) -> None:
    lithos.start()
    call("lithos_list")
    call("lithos_search", query="letter")
    lithos.notes.reindex(clear=True)
    folder = lithos.storage.roots["vault"].path
    for file in FIXTURE.rglob("*"):
        if file.is_file():
            assert (folder / file.relative_to(FIXTURE)).read_bytes() == file.read_bytes()
    assert {file.name for file in folder.rglob("*")} == {file.name for file in FIXTURE.rglob("*")}


def test_tags_aliases_and_bad_frontmatter_are_seen_as_people_wrote_them(call: CallTool) -> None:
    assert call("lithos_tags")["tags"] == {"Greek": 1, "hub": 1, "letter": 1, "über/tag": 1}
    assert call("lithos_tags", prefix="üb")["tags"] == {"über/tag": 1}
    broken = call("lithos_read", path="archive/Broken")
    assert broken["problem"].startswith("frontmatter: not valid YAML")
    assert broken["content"].startswith("Broken frontmatter, still found")
    assert [hit["path"] for hit in call("lithos_search", query="unclosed")["results"]] == ["archive/Broken.md"]


def test_validate_groups_what_is_wrong(call: CallTool) -> None:
    found = call("lithos_validate")
    assert found["ok"] is False
    assert found["counts"] == {
        "broken_links": 2,
        "ambiguous_links": 2,
        "links_by_title": 1,
        "broken_frontmatter": 1,
        "missing_frontmatter": 3,
    }
    ambiguous = found["problems"]["ambiguous_links"][0]
    assert (ambiguous["path"], ambiguous["line"], ambiguous["target"]) == ("Index.md", 11, "Same")
    assert ambiguous["candidates"] == ["archive/Same.md", "people/Same.md"]


def test_validate_shows_the_first_of_each_kind_and_pages_through_one(lithos: Lithos, call: CallTool) -> None:
    links = "\n".join(f"[[nowhere {number:03}]]" for number in range(120))
    call("lithos_write", title="Wishes", content=links, agent="bot")
    first = call("lithos_validate")
    assert first["counts"]["broken_links"] == 122 and len(first["problems"]["broken_links"]) == 3
    assert first["truncated"] is True and "kind=" in first["more"]
    seen: list[str] = []
    page = call("lithos_validate", kind="broken_links")
    while page["problems"]["broken_links"]:
        assert set(page["problems"]) == {"broken_links"} and page["counts"] == first["counts"]
        seen += [each["target"] for each in page["problems"]["broken_links"]]
        if "next_offset" not in page:
            break
        page = call("lithos_validate", kind="broken_links", offset=page["next_offset"])
    assert len(seen) == len(set(seen)) == 122 and "truncated" not in page
    assert len(call("lithos_validate", limit=1000)["problems"]["broken_links"]) == 122
    with pytest.raises(InvalidInput, match="did you mean 'broken_links'"):
        call("lithos_validate", kind="broken_link")
    with pytest.raises(InvalidInput, match="one kind"):
        call("lithos_validate", offset=3)


def test_a_written_note_of_a_foreign_vault_keeps_its_id_from_then_on(lithos: Lithos, call: CallTool) -> None:
    gamma = call("lithos_read", path="Gamma ray")
    call("lithos_write", id=gamma["id"], agent="bot", tags=["new"])
    after = call("lithos_read", path="Gamma ray")
    assert (after["id"], after["metadata"]["id"], after["content"]) == (gamma["id"], gamma["id"], gamma["content"])
    assert (
        (lithos.storage.roots["vault"].path / "Gamma ray.md")
        .read_bytes()
        .endswith((FIXTURE / "Gamma ray.md").read_bytes())
    )
