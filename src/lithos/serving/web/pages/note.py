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


def _fields(metadata: dict[str, Any]) -> list[tuple[str, str]]:
    """Frontmatter that is not shown elsewhere, as text."""
    shown = ((name, value) for name, value in metadata.items() if name not in HIDDEN_FIELDS)
    return [(name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)) for name, value in shown]


async def raw(page: Page) -> Response:
    note = await page.call("lithos_read", id=page.part("id"))
    return Response(note["content"], media_type="text/plain; charset=utf-8")


# ------------------------------------------------------------------- editing
async def new(page: Page) -> Response:
    note = {"id": "", "title": page.given("title"), "content": "", "version": "", "path": "", "metadata": {}}
    return page.show("note_edit.html", note=note, tags="", folder=page.given("folder"), base="", problem=None)


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
        values = {"tags": fields.get("tags", ""), "folder": fields.get("folder", ""), "base": ""}
        return page.show("note_edit.html", status=400, note=note, problem=error.as_dict(), **values)
    return page.go(f"/note/{segment(saved['id'])}")


async def edit(page: Page) -> Response:
    note = await page.call("lithos_read", id=page.part("id"))
    tags = ", ".join(note["metadata"].get("tags", []))
    return page.show("note_edit.html", note=note, tags=tags, folder=None, base=note["content"], problem=None)


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
        values = {"tags": fields.get("tags", ""), "folder": None, "base": fields.get("base", "")}
        return page.show("note_edit.html", status=400, note=note, problem=error.as_dict(), **values)
    return page.go(f"/note/{segment(id)}")


async def _merge(page: Page, fields: dict[str, str], error: Conflict) -> Response:
    now = await page.call("lithos_read", id=page.part("id"))
    mine, base = fields.get("content", ""), fields.get("base", "")
    history = await page.try_call("lithos_note_history", id=now["id"], limit=1)
    versions = (history or {}).get("versions") or [{}]
    return page.show(
        "note_merge.html",
        status=409,
        note=now,
        title=fields.get("title", ""),
        tags=fields.get("tags", ""),
        mine=mine,
        merged=await page.work(merge, base, mine, now["content"]),
        theirs_rows=await page.work(compare, base, now["content"]),
        mine_rows=await page.work(compare, base, mine),
        last=versions[0],
        problem=error.as_dict(),
    )


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
