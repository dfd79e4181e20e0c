"""Search as you type, over everything, with the reason for each hit."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from lithos.errors import LithosError
from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.passages import marked, readable
from lithos.serving.web.templates import path as segment

KINDS = (
    ("note", "Notes"),
    ("task", "Tasks"),
    ("finding", "Findings"),
    ("thought", "Thoughts"),
    ("skill", "Skills"),
    ("code", "Code"),
    ("message", "Messages"),
    ("history", "History"),
    ("source", "Sources"),
)
STATUSES = ("", "active", "superseded", "deprecated", "stale", "all")
SHOWN = 20
RECENT = 30
LONGEST_PASSAGE = 320


class Leg(NamedTuple):
    """One way in which a hit was found, as a part of the longest bar."""

    name: str
    value: float
    share: int  # of 100


async def search(page: Page) -> Response:
    asked = page.given("q").strip()
    kinds = [kind for kind in page.request.query_params.getlist("kind") if kind in dict(KINDS)]
    filters = {
        "tags": [page.given("tag")] if page.given("tag") else None,
        "author": page.given("author") or None,
        "path_prefix": page.given("folder") or None,
        "status": page.given("status") if page.given("status") in STATUSES[1:] else None,
    }
    found: dict[str, Any] | None = None
    recent: dict[str, Any] | None = None
    problem = None
    try:
        if asked:
            found = await page.call(
                "lithos_recall",
                query=asked,
                limit=SHOWN,
                kinds=kinds or None,
                explain=True,
                cursor=page.given("cursor") or None,
                **filters,
            )
        else:
            recent = await page.call("lithos_list", limit=RECENT, **filters)
    except LithosError as error:
        problem = error.as_dict()
    template = "search_results.html" if page.by_htmx else "search.html"
    return page.show(
        template,
        asked=asked,
        kinds=kinds,
        all_kinds=KINDS,
        statuses=STATUSES,
        found=found,
        recent=recent,
        legs=_legs(found) if found else {},
        problem=problem,
        given=page.given,
        place_of=place_of,
        query=_query(page),
        longest=LONGEST_PASSAGE,
        marked=marked,
        readable=readable,
        narrowed=bool(kinds or any(filters.values())),
    )


def place_of(hit: dict[str, Any]) -> str | None:
    """The page of a hit; None: its kind has none."""
    kind, id = hit["kind"], segment(str(hit.get("id") or ""))
    if kind in ("note", "source") and id:
        return f"/note/{id}"
    if kind == "task":
        return f"/board/{id}"
    if kind == "finding" and hit.get("task_id"):
        return f"/board/{segment(hit['task_id'])}"
    if kind == "thought" and hit.get("chain_key"):
        return f"/ledger/{segment(hit['chain_key'])}/{hit['title'].rpartition('#')[2]}"
    if kind == "message" and id:
        return f"/mail/thread/{id}"  # it leads on to the conversation
    return None


def _query(page: Page) -> str:
    """The query of this search without its place, for the link to more."""
    return urlencode([(name, value) for name, value in page.request.query_params.multi_items() if name != "cursor"])


def _legs(found: dict[str, Any]) -> dict[str, list[Leg]]:
    """By id: how much words and meaning speak for each hit, beside the best of this answer."""
    best = (found.get("trace") or {}).get("best") or []
    most = max((float(each.get("words") or 0) for each in best), default=0.0) or 1.0
    legs = {str(each["id"]): _legs_of(each, most) for each in best if "id" in each}
    return {**_matches(found["results"]), **legs}


def _matches(hits: list[dict[str, Any]]) -> dict[str, list[Leg]]:
    """By id: the score beside the best one. The trace names words and meaning of notes alone."""
    scores = {str(hit["id"]): float(hit.get("score") or 0) for hit in hits if hit.get("id")}
    most = max(scores.values(), default=0.0) or 1.0
    return {id: [Leg("match", round(score, 2), _share(score / most))] for id, score in scores.items()}


def _legs_of(each: dict[str, Any], most: float) -> list[Leg]:
    words, meaning = float(each.get("words") or 0), float(each.get("similarity") or 0)
    return [
        Leg("words", round(words, 2), _share(words / most)),
        Leg("meaning", round(meaning, 2), _share(meaning)),
    ]


def _share(part: float) -> int:
    return max(0, min(100, round(100 * part)))


ROUTES = (PageRoute("/search", search),)
