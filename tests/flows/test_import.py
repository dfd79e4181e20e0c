"""`lithos import`: every source becomes notes or thoughts that recall finds; a second run adds nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lithos.cli.root import run
from lithos.importing import Extent, ImportedNote, ImportReport, Skipped, place_note, read_source
from lithos.importing.streams import json_lines


def vault(folder: Path) -> Path:
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "Sub").mkdir()
    (folder / "Sub/My Note.md").write_text("---\ntags: [a]\n---\nThe quokka sleeps. [[Other]]\n")
    (folder / "Other.md").write_text("Other.\n")
    (folder / "pic.png").write_bytes(b"\x89PNG")
    (folder / "latin.md").write_bytes(b"\xe9")
    (folder / "link.md").symlink_to("/etc/passwd")
    return folder


def logseq(folder: Path) -> Path:
    for name in ("pages", "journals", "logseq"):
        (folder / name).mkdir(parents=True)
    (folder / "pages/animals___quokka.md").write_text("- The quokka sleeps.\n")
    (folder / "journals/2024_01_02.md").write_text("- a day\n")
    (folder / "logseq/config.edn").write_text("{}")
    return folder


def agents_md(folder: Path) -> Path:
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("# Rules\n\nThe quokka sleeps.\n")
    return folder / "CLAUDE.md"


def basic_memory(folder: Path) -> Path:
    folder.mkdir()
    head = "---\ntitle: Quokka\ntype: note\npermalink: animals/quokka\ntags: [animal]\n---\n"
    (folder / "Quokka.md").write_text(f"{head}\n- [fact] The quokka sleeps. #rest\n- lives_on [[Rottnest]]\n")
    return folder


def memory_server(folder: Path) -> Path:
    folder.mkdir()
    rows = [
        {
            "type": "entity",
            "name": "Quokka",
            "entityType": "animal",
            "observations": ["The quokka sleeps.", "It smiles."],
        },
        {"type": "entity", "name": "Rottnest", "entityType": "place", "observations": []},
        {"type": "relation", "from": "Quokka", "to": "Rottnest", "relationType": "lives on"},
    ]
    (folder / "memory.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\nbroken\n")
    return folder / "memory.jsonl"


def memory_service(folder: Path) -> Path:
    folder.mkdir()
    with sqlite3.connect(folder / "sqlite_vec.db") as database:
        database.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT, "
            "memory_type TEXT, metadata TEXT, created_at REAL, deleted_at REAL)"
        )
        rows = [
            ("h1", "The quokka sleeps.", "animal,rest", "fact", "{}", 1700000000.5, None),
            ("h2", "gone", "", "", "{}", 1.0, 2.0),
        ]
        columns = "content_hash, content, tags, memory_type, metadata, created_at, deleted_at"
        database.executemany(f"INSERT INTO memories ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return folder / "sqlite_vec.db"


def mentisdb(folder: Path) -> Path:
    folder.mkdir()
    thoughts = [
        {
            "index": 0,
            "agent_id": "ann",
            "thought_type": "Decision",
            "content": "The quokka sleeps.",
            "tags": ["a"],
            "hash": "x",
        },
        {"index": 1, "agent_id": "bob", "thought_type": "Idea", "content": "It smiles.", "importance": 0.5},
    ]
    (folder / "zoo.jsonl").write_text("\n".join(map(json.dumps, thoughts)))
    return folder / "zoo.jsonl"


def claude(folder: Path) -> Path:
    folder.mkdir()
    turns = [
        {"sender": "human", "text": "What does it do?", "content": [{"type": "text", "text": "What does it do?"}]},
        {"sender": "assistant", "text": "The quokka sleeps."},
    ]
    chats = [
        {"uuid": "u1", "name": "Animals", "created_at": "2024-01-02T03:04:05Z", "chat_messages": turns},
        {"uuid": "u2"},
    ]
    (folder / "conversations.json").write_text(json.dumps(chats, indent=1))
    return folder / "conversations.json"


def chatgpt(folder: Path) -> Path:
    folder.mkdir()

    def node(parent: str | None, role: str, text: str) -> dict[str, Any]:
        return {"parent": parent, "message": {"author": {"role": role}, "content": {"parts": [text]}}}

    mapping = {
        "a": {"parent": None, "message": None},
        "b": node("a", "user", "What does it do?"),
        "c": node("b", "assistant", "An abandoned branch."),
        "d": node("b", "assistant", "The quokka sleeps."),
    }
    chat = {
        "conversation_id": "c1",
        "title": "Animals",
        "create_time": 1700000000.0,
        "mapping": mapping,
        "current_node": "d",
    }
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("../evil.txt", "x")
        archive.writestr("conversations.json", json.dumps([chat]))
    return folder / "export.zip"


SOURCES = {
    "obsidian": (vault, 3, 2),
    "logseq": (logseq, 2, 0),
    "markdown": (agents_md, 1, 0),
    "markdown of basic-memory": (basic_memory, 1, 0),
    "memory-server": (memory_server, 2, 1),
    "mcp-memory-service": (memory_service, 1, 0),
    "mentisdb": (mentisdb, 2, 0),
    "claude": (claude, 1, 1),
    "chatgpt": (chatgpt, 1, 0),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_is_recognised_imported_found_and_not_doubled(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, items, left_out = SOURCES[kind]
    source, data = make(tmp_path / "source"), tmp_path / "data"

    def imported(*more: str) -> Any:
        assert run(["import", str(source), "--json", "--data-dir", str(data), *more]) == 0
        return json.loads(capsys.readouterr().out)

    trial = imported("--dry-run")
    assert not data.exists()
    first = imported()
    assert (first["kind"], first["imported"], first["left_out"]) == (kind.split()[0], items, left_out)
    assert {name: trial[name] for name in ("read", "imported", "left_out")} == {
        name: first[name] for name in ("read", "imported", "left_out")
    }
    again = imported()
    assert (again["imported"], again["already_there"]) == (0, items)
    assert run(["call", "lithos_recall", "query=quokka sleeps", "--data-dir", str(data)]) == 0
    found = capsys.readouterr().out
    assert "quokka" in found.lower() and not (tmp_path / "evil.txt").exists()


def test_what_was_changed_here_or_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, data = vault(tmp_path / "source"), tmp_path / "data"
    arguments = ["import", str(source), "--folder", "mine", "--data-dir", str(data)]
    assert run(arguments) == 0
    note = data / "knowledge/mine/Sub/My Note.md"
    assert note.read_bytes() == (source / "Sub/My Note.md").read_bytes()
    note.write_text("changed here")
    (source / "Other.md").write_text("changed there")
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == ["Other.md", "Sub/My Note.md"]
    assert note.read_text() == "changed here"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.json", '[{"uuid": "u", "chat_messages": [{"sender": "human", "text": "hi"}]}, {"uuid": '),
        ("no.json", "hello"),
        ("half.db", "SQLite format 3\0 and nothing"),
        ("empty.json", ""),
    ],
)
def test_a_source_that_is_broken_is_named(
    name: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    assert run(["import", str(tmp_path / name), "--data-dir", str(tmp_path / "data")]) == 2
    told = capsys.readouterr().err
    assert str(tmp_path / name) in told and "Traceback" not in told
    assert run(["import", str(tmp_path / "typo"), "--data-dir", str(tmp_path / "data")]) == 3
    assert run(["import", str(tmp_path / "typo"), "--from", "claude", "--data-dir", str(tmp_path / "data")]) == 3
    assert run(["import", str(tmp_path), "--from", "obsidan", "--data-dir", str(tmp_path / "data")]) == 2


@pytest.mark.torture
def test_two_gigabytes_and_a_million_entries_are_read_piece_by_piece(tmp_path: Path) -> None:
    import resource

    turn = json.dumps({"sender": "human", "text": "x" * 2000})
    with open(tmp_path / "conversations.json", "w") as file:
        file.write("[")
        for number in range(1_000_000):
            file.write(f'{"," if number else ""}{{"uuid": "{number}", "name": "n", "chat_messages": [{turn}]}}')
        file.write("]")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in read_source("claude", tmp_path / "conversations.json")) == 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_a_line_above_the_limit_is_left_out_once_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithos.importing.streams.LARGEST", 100)
    (tmp_path / "lines").write_text(f'{" " * 150}{{"n": 1}}{" " * 300}\n{{"n": 2}}\n{"x" * 99}\n{"x" * 100}')
    found = list(json_lines(tmp_path / "lines", Extent()))
    names = [(each.name, each.why[:9]) if isinstance(each, Skipped) else each for each in found]
    assert names == [("line 1", "it is lar"), {"n": 2}, ("line 3", "it is not"), ("line 4", "it is lar")]


def test_a_stopped_import_says_how_to_go_on_and_doubles_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, data = tmp_path / "memory.jsonl", tmp_path / "data"
    rows = [{"type": "entity", "name": f"Entity {number}", "observations": [f"Fact {number}."]} for number in range(6)]
    source.write_text("\n".join(map(json.dumps, rows)))
    arguments = ["import", str(source), "--from", "memory-server", "--data-dir", str(data)]
    link, made = os.link, []

    def interrupted(*names: Any) -> None:
        made.extend(name for name in names[1:] if "entity-" in str(name))
        if len(made) == 4:
            raise KeyboardInterrupt
        link(*names)

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", interrupted)
        assert run(arguments) == 130
    said = capsys.readouterr().err
    assert "stopped after 4 entries; run it again to go on" in said and "Traceback" not in said
    assert len(list(data.rglob("entity-*.md"))) == 3 and not list(data.rglob(".lithos-new-*"))
    assert run([*arguments, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["imported"], again["already_there"]) == (3, 3)
    assert len(list(data.rglob("entity-*.md"))) == 6


def test_entries_whose_names_meet_are_both_imported_and_found_again(tmp_path: Path) -> None:
    here = ("same-00000000.md", "same-000000000000000000000000.md", "same-000000001111111111111111.md")
    first = ImportedNote(here[0], "One.", "Same", (), "import:x:1", second_path=here[1])
    second = ImportedNote(here[0], "Two.", "Same", (), "import:x:2", second_path=here[2])
    for outcome in ("imported", "already there"):
        assert [place_note(each, tmp_path, dry_run=False) for each in (first, second)] == [outcome, outcome]
    assert sorted(each.name for each in tmp_path.iterdir()) == [here[0], here[2]]
    (tmp_path / here[0]).write_text((tmp_path / here[0]).read_text().replace("One.", "Edited here."))
    assert place_note(first, tmp_path, dry_run=False) == "changed"
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_reported_as_imported_was_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "sync", lambda: flushed.append(len(list((tmp_path / "data").rglob("*.md")))))
    assert run(["import", str(vault(tmp_path / "source")), "--data-dir", str(tmp_path / "data")]) == 0
    assert flushed == [2]


def test_relations_are_kept_in_order_and_named_when_their_entity_is_missing(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "relation", "from": "Gone", "to": "A", "relationType": "knows"},
        {"type": "relation", "from": "A", "to": "\ud800", "relationType": "b"},
        {"type": "entity", "name": "A", "observations": []},
        {"type": "relation", "from": "A", "to": "C", "relationType": "a"},
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    note, missing = read_source("memory-server", tmp_path / "m.jsonl")
    assert isinstance(note, ImportedNote) and isinstance(missing, Skipped)
    assert note.content.splitlines()[-2:] == ["- b [[?]]", "- a [[C]]"]
    assert missing.name == "Gone"


def test_a_report_lists_the_first_thousand_and_counts_all() -> None:
    report = ImportReport("x")
    for number in range(1_200):
        report.count("changed", f"{number}.md")
    assert (report.differ, len(report.changed)) == (1_200, 1_000)
