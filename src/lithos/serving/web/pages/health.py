"""Health: how far the index is, what is wrong, what doctor says, and the settings in force."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from lithos.serving.web.page import Page, PageRoute

SHOWN_PROBLEMS = 5


async def health(page: Page) -> Response:
    return page.show(
        "health.html",
        stats=await page.call("lithos_stats"),
        settings=_settings(page) if page.visitor.operator else None,
    )


async def vault(page: Page) -> Response:
    """Asked for after the page is shown: it reads every note, 0.2 ms each."""
    return page.show("vault.html", vault=await page.call_cached("lithos_validate", limit=SHOWN_PROBLEMS))


async def progress(page: Page) -> Response:
    return page.show("progress.html", stats=await page.call("lithos_stats"))


async def doctor(page: Page) -> Response:
    fields = await page.form()
    found = await page.call("lithos_doctor", repair=fields.get("repair") == "yes")
    return page.show("doctor.html", found=found)


async def reindex(page: Page) -> Response:
    await page.form()
    await page.call("lithos_reindex")
    return page.go("/status")


def _settings(page: Page) -> list[tuple[str, list[tuple[str, str]]]]:
    """By section; a secret is dumped as asterisks."""
    values: dict[str, Any] = page.site.config.model_dump(mode="json") if page.site.config else {}
    return [
        (section, [(name, _spelled(value)) for name, value in fields.items()])
        for section, fields in values.items()
        if isinstance(fields, dict)
    ]


def _spelled(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)


ROUTES = (
    PageRoute("/status", health),
    PageRoute("/status/progress", progress),
    PageRoute("/status/vault", vault),
    PageRoute("/status/doctor", doctor, "POST"),
    PageRoute("/status/reindex", reindex, "POST"),
)
