"""Note: read it, its links and properties; correct it; let it go."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from lithos.errors import Conflict, InvalidInput, KeyReused, LithosError
from lithos.serving.web.diffs import compare, merge
from lithos.serving.web.markdown import MOST_RENDERED, render
from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.templates import path as segment

SHOWN_LINKS = 50
BASE_FIELDS = {"content": "base", "title": "base_title", "tags": "base_tags"}  # of the form of an edit
NOTE_FIELDS = frozenset({"supersedes", "superseded_by", "derived_from"})
HIDDEN_FIELDS = frozenset({"id", "title", "tags", "created_at", "updated_at", "author", "status"})


@lru_cache(maxsize=64)
def _rendered(content: str, title: str, path: str, links: tuple[tuple[str, str | None, str], ...]) -> Markup:
    known = [{"target": target, "id": id, "status": status} for target, id, status in links]
    return render(content, title=title, path=path, links=known)


async def view(page: Page) -> Response:
    note = await page.call("lithos_read", id=page.part("id"))
    around = await page.call("lithos_links", id=note["id"], limit=SHOWN_LINKS)
    links = tuple((each["target"], each["id"], each["status"]) for each in note["links"])
    content = note["content"][:MOST_RENDERED]
    return page.show(
        "note.html",
        note=note,
        body=await page.work(_rendered, content, note["title"], note["path"], links),
        whole=len(note["content"]) <= MOST_RENDERED,
        broken=[each for each in note["links"] if each["status"] != "resolved"][:SHOWN_LINKS],
        outgoing=around["outgoing"],
        incoming=around["incoming"],
        fields=_fields(note["metadata"]),
    )


def _fields(metadata: dict[str, Any]) -> list[tuple[str, list[str], bool]]:
    """Frontmatter that is not shown elsewhere: name, values as text, and whether these are ids of notes."""
    shown = ((name, value) for name, value in metadata.items() if name not in HIDDEN_FIELDS)
    return [
        (name, list(map(_spelled, value)) if isinstance(value, list) else [_spelled(value)], name in NOTE_FIELDS)
        for name, value in shown
    ]


def _spelled(value: object) -> str:
    """A value of the frontmatter as people write it, not as Python does."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_spelled(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_spelled, value))
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


async def raw(page: Page) -> Response:
    note = await page.call("lithos_read", id=page.part("id"))
    return Response(note["content"], media_type="text/plain; charset=utf-8")


# ------------------------------------------------------------------- editing
async def new(page: Page) -> Response:
    note = {"id": "", "title": page.given("title"), "content": "", "version": "", "path": "", "metadata": {}}
    return page.show("note_edit.html", note=note, tags="", folder=page.given("folder"), base=None, problem=None)


async def create(page: Page) -> Response:
    fields = await page.form()
    tags = _tags(fields)
    arguments = {"title": fields.get("title", ""), "content": fields.get("content", ""), "tags": tags}
    try:
        saved = await page.call(
            "lithos_write", **arguments, path=fields.get("folder") or None, idempotency_key=fields.get("key")
        )
    except LithosError as error:
        note = {**arguments, "id": "", "version": "", "path": "", "metadata": {}}
        values = {"tags": fields.get("tags", ""), "folder": fields.get("folder", ""), "base": None}
        return page.show("note_edit.html", status=400, note=note, problem=error.as_dict(), **values)
    return page.go(f"/note/{segment(saved['id'])}")


async def edit(page: Page) -> Response:
    note = await page.call("lithos_read", id=page.part("id"))
    return page.show("note_edit.html", note=note, tags=_joined(note), folder=None, base=_base(note), problem=None)


async def save(page: Page) -> Response:
    """Write what the person typed, if the note is still the one that the person saw; else show all three texts."""
    fields = await page.form()
    id, content = page.part("id"), fields.get("content", "")
    try:
        await page.call(
            "lithos_write",
            id=id,
            title=fields.get("title") or None,
            content=content,
            tags=_tags(fields),
            if_match=_version(fields),
            idempotency_key=fields.get("key"),
        )
    except KeyReused:
        raise
    except Conflict as error:
        return await _merge(page, fields, error)
    except LithosError as error:
        note = {**await page.call("lithos_read", id=id), "content": content, "title": fields.get("title", "")}
        note["version"] = fields.get("version", "")
        base = {name: fields.get(field, "") for name, field in BASE_FIELDS.items()}
        values = {"tags": fields.get("tags", ""), "folder": None, "base": base}
        return page.show("note_edit.html", status=400, note=note, problem=error.as_dict(), **values)
    return page.go(f"/note/{segment(id)}")


async def _merge(page: Page, fields: dict[str, str], error: Conflict) -> Response:
    now = await page.call("lithos_read", id=page.part("id"))
    mine, base = fields.get("content", ""), fields.get("base", "")
    history = await page.try_call("lithos_note_history", id=now["id"], limit=1)
    versions = (history or {}).get("versions") or [{}]
    title = _merged_title(fields, now["title"])
    return page.show(
        "note_merge.html",
        status=409,
        note=now,
        title=title,
        their_title=now["title"] if title != now["title"] and now["title"] != fields.get("base_title") else "",
        tags=", ".join(_merged_tags(fields, now["metadata"].get("tags", []))),
        base=_base(now),
        mine=mine,
        merged=await page.work(merge, base, mine, now["content"]),
        theirs_rows=await page.work(compare, base, now["content"]),
        mine_rows=await page.work(compare, base, mine),
        last=versions[0],
        problem=error.as_dict(),
    )


def _base(note: dict[str, Any]) -> dict[str, str]:
    """The values that the form starts from: with them, a later save finds out who changed what."""
    return {"content": note["content"], "title": note["title"], "tags": _joined(note)}


def _joined(note: dict[str, Any]) -> str:
    return ", ".join(note["metadata"].get("tags", []))


def _merged_title(fields: dict[str, str], theirs: str) -> str:
    """The person's title if the person changed it, else the one that the note has now."""
    mine = fields.get("title", "")
    return theirs if mine == fields.get("base_title") else mine


def _merged_tags(fields: dict[str, str], theirs: list[str]) -> list[str]:
    """The tags that the note has now, with what the person added and without what the person removed."""
    mine, base = _tags(fields), _tags({"tags": fields.get("base_tags", "")})
    kept = [tag for tag in theirs if tag in mine or tag not in base]
    return [*kept, *(tag for tag in mine if tag not in base and tag not in kept)]


def _tags(fields: dict[str, str]) -> list[str]:
    return [tag for each in fields.get("tags", "").split(",") if (tag := each.strip().removeprefix("#"))]


def _version(fields: dict[str, str]) -> str:
    """A form without it would overwrite what its writer has not seen."""
    if not fields.get("version"):
        raise InvalidInput("the form does not say which version was edited", hint="Open the note and edit it again.")
    return fields["version"]


# ------------------------------------------------------------------- letting go
async def forget(page: Page) -> Response:
    fields = await page.form()
    await page.call("lithos_delete", id=page.part("id"), if_match=_version(fields), idempotency_key=fields.get("key"))
    return page.go("/search")


async def supersede(page: Page) -> Response:
    fields = await page.form()
    await page.call(
        "lithos_write",
        id=page.part("id"),
        superseded_by=fields.get("by", ""),
        if_match=_version(fields),
        idempotency_key=fields.get("key"),
    )
    return page.go(f"/note/{segment(page.part('id'))}")


ROUTES = (
    PageRoute("/note-new", new, writes=True),
    PageRoute("/note-new", create, "POST"),
    PageRoute("/note/{id}/edit", edit, writes=True),
    PageRoute("/note/{id}/edit", save, "POST"),
    PageRoute("/note/{id}/raw", raw),
    PageRoute("/note/{id}/forget", forget, "POST"),
    PageRoute("/note/{id}/supersede", supersede, "POST"),
    PageRoute("/note/{id:path}", view),
)
