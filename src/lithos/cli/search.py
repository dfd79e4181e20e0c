"""`lithos search` and `lithos inspect`: what an agent would find, and how a note was cut for it."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, show, styled, verb
from lithos.errors import InvalidInput

Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only notes with this tag; several: with all of them.")]
Author = Annotated[str | None, typer.Option("--author", help="Only notes of this author.")]
Prefix = Annotated[str | None, typer.Option("--path", help="Only paths that start so.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="At most so many.")]
Note = Annotated[str, typer.Argument(help="Id or path of the note.")]
_MARK = re.compile(r"</?b>")


def join(root: typer.Typer) -> None:
    root.command("search")(search)
    join_noun(root, "inspect", "Look inside the index.", chunks=chunks)


@verb
def search(
    terminal: Terminal,
    query: Annotated[str, typer.Argument(help="Words, Tantivy syntax, or a question.")],
    semantic: Annotated[bool, typer.Option("--semantic", help="By meaning.")] = False,
    hybrid: Annotated[bool, typer.Option("--hybrid", help="By words and meaning together.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="How the ranking came about.")] = False,
    tag: Tags = None,
    author: Author = None,
    path: Prefix = None,
    limit: Limit = 10,
) -> None:
    """Find notes: by words, unless another way is asked for."""
    if semantic and hybrid:
        raise InvalidInput("--semantic and --hybrid are two ways to search", hint="Choose one of them.")
    tool = "lithos_recall" if hybrid else "lithos_semantic" if semantic else "lithos_search"
    arguments: dict[str, Any] = {"query": query, "limit": limit, "tags": tag, "author": author, "path_prefix": path}
    if explain:
        arguments["explain"] = True
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = terminal.ask(tool, given)
    if terminal.as_json:
        return show(answer)
    _remarks(answer)
    for hit in answer["results"]:
        _print(hit)
    if explain:
        show(answer.get("trace"))
    return None


def _remarks(answer: dict[str, Any]) -> None:
    if answer.get("literal"):
        print(f"lithos: {answer['literal']}", file=sys.stderr)
    if answer.get("relevant") is False:
        print("lithos: nothing here seems to answer this", file=sys.stderr)
    if answer.get("degraded"):
        print(f"lithos: {answer['degraded_reason']}", file=sys.stderr)
    if not answer["results"]:
        print("lithos: nothing found", file=sys.stderr)


def _print(hit: dict[str, Any]) -> None:
    score = hit.get("similarity", hit.get("score"))
    heading = f"  {hit['heading']}" if hit["heading"] else ""
    print(f"{score:7.3f}  {styled(hit['title'], 'bold')}{heading}  ({hit['path'] or hit['id']})")
    text = " ".join(_MARK.sub("", hit.get("snippet") or hit.get("passage") or "").split())
    print(f"         {text[:200]}")


@verb
def chunks(terminal: Terminal, note: Note) -> None:
    """Print the passages into which a note was cut, as search sees them."""
    from lithos.cli.note import read

    answer = terminal.ask("lithos_note_passages", {"id": read(terminal, note)["id"]})
    terminal.tell(answer, _print_passages)


def _print_passages(answer: dict[str, Any]) -> None:
    print(f"{answer['title']}  ({answer['path']})  {len(answer['passages'])} passages")
    for passage in answer["passages"]:
        heading = f"  {passage['heading']}" if passage["heading"] else ""
        print(f"\n[{passage['position']}]{heading}  {passage['characters']} characters, {passage['tokens']} tokens")
        print(passage["text"])
