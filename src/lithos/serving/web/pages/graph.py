"""Graph: notes and links, drawn in the browser; a list of the most linked notes for those without a script."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import Counter
from itertools import pairwise
from typing import Any

import orjson
from starlette.responses import Response

from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.templates import UUID, bare, unlinked

SHOWN = 60
MOST_TAGS, MOST_FOLDERS = 300, 500


async def graph(page: Page) -> Response:
    around, folder, tag = page.given("around").strip(), page.given("folder").strip(), page.given("tag").strip()
    found, links = await asyncio.gather(
        page.call("lithos_note_graph"), page.call("lithos_links", id=around) if around else asyncio.sleep(0, None)
    )
    note = await page.call("lithos_read", id=around, max_length=1) if around else None
    return page.show(
        "graph.html",
        total=found["total"],
        shown=len(found["ids"]),
        links=len(found["links"]) // 2,
        most_linked=[] if around else _most_linked(found, folder, tag),
        folders=_folders(found["paths"]),
        tags=_most_used(found),
        folder=folder,
        tag=tag,
        around=note,
        near=links,
        degraded=found.get("degraded_reason", ""),
    )


async def data(page: Page) -> Response:
    """The graph in as few bytes as is simple: folders once, no names of files, numbers packed."""
    found = await page.call("lithos_note_graph")
    body = await asyncio.to_thread(_packed, found)
    return Response(body, media_type="application/json")


def _packed(found: dict[str, Any]) -> bytes:
    folders: dict[str, int] = {}
    places = [folders.setdefault(path.rpartition("/")[0], len(folders)) for path in found["paths"]]
    ids, other_ids = _ids(found["ids"])
    return orjson.dumps(
        {
            "ids": ids,
            "other_ids": other_ids,
            "titles": "\n".join(bare(unlinked(title[:200])).replace("\n", " ") for title in found["titles"]),
            "folders": list(folders),
            "folder": _numbers([places]),
            "tags": found["tags"],
            "tagged": _numbers(found["tagged"]),
            "targets": _numbers(_by_source(found["links"], len(found["ids"]))),
            "total": found["total"],
        }
    )


def _ids(ids: list[str]) -> tuple[str, dict[str, str]]:
    """The UUIDs as one base64, 21 characters each instead of 39; other ids by their place."""
    others = {str(place): id for place, id in enumerate(ids) if UUID.fullmatch(id) is None}
    joined = "".join("0" * 32 if str(place) in others else id.replace("-", "") for place, id in enumerate(ids))
    return b64encode(bytes.fromhex(joined)).decode(), others


def _numbers(lists: list[list[int]]) -> str:
    """Each list as its length and its numbers, 7 bits a byte, as base64: half of what JSON takes."""
    packed = bytearray()
    for each in lists:
        for number in (len(each), *each):
            while number > 127:
                packed.append(number & 127 | 128)
                number >>= 7
            packed.append(number)
    return b64encode(packed).decode()


def _by_source(links: list[int], count: int) -> list[list[int]]:
    """For each note the places that it links to, each as the distance from the one before: half the digits of pairs."""
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in zip(links[::2], links[1::2], strict=True):
        targets[source].append(target)
    return [[to - before for before, to in pairwise([0, *sorted(each)])] for each in targets]


def _folders(paths: list[str]) -> list[tuple[str, int]]:
    """Each folder with the number of notes in and beneath it."""
    counts: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")[:-1]
        counts.update("/".join(parts[: n + 1]) for n in range(len(parts)))
    return sorted(counts.most_common(MOST_FOLDERS))


def _most_used(found: dict[str, Any]) -> list[tuple[str, int]]:
    counts = Counter(place for tags in found["tagged"] for place in tags)
    return [(found["tags"][place], count) for place, count in counts.most_common(MOST_TAGS)]


def _most_linked(found: dict[str, Any], folder: str, tag: str) -> list[dict[str, Any]]:
    counts = Counter(found["links"])
    rows = []
    for place, note_id in enumerate(found["ids"]):
        if folder and not found["paths"][place].startswith(f"{folder}/"):
            continue
        if tag and tag not in (found["tags"][each] for each in found["tagged"][place]):
            continue
        rows.append({"id": note_id, "title": found["titles"][place], "count": counts[place]})
    return sorted(rows, key=lambda row: (-row["count"], row["title"]))[:SHOWN]


ROUTES = (PageRoute("/graph", graph), PageRoute("/graph/data", data))
