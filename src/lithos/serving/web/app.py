"""The page as an ASGI application: who visits, security headers, errors, and the routes of all pages."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lithos.app import Lithos
from lithos.errors import Forbidden, LithosError, NotFound
from lithos.serving.mcp.adapter import CallForPage
from lithos.serving.web.assets import Assets
from lithos.serving.web.live import Live
from lithos.serving.web.own_origin import need_own_origin
from lithos.serving.web.page import Handler, Page, PageRoute, Site
from lithos.serving.web.pages import all_routes
from lithos.serving.web.security_headers import SafeHeaders
from lithos.serving.web.templates import NAV, UUID, environment
from lithos.serving.web.templates import path as segment
from lithos.serving.web.visitors import SignIns, Visitor
from lithos.settings import LithosConfig, ServerSettings
from lithos.tools.answers.errors import as_lithos_error, http_status

_log = logging.getLogger("lithos.web")


def pages(
    lithos: Lithos,
    call_tool: CallForPage,
    sign_ins: SignIns,
    settings: ServerSettings,
    config: LithosConfig | None = None,
) -> ASGIApp:
    assets = Assets()
    site = Site(lithos, call_tool, sign_ins, settings, config, assets, environment(assets))
    site.live = Live(site)
    routes = [*_routes(site), Route("/static/{name:path}", endpoint=assets.serve)]
    middleware = [Middleware(SafeHeaders), Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers={HTTPException: partial(_refused, site)})
    app.state.site = site
    return app


def _routes(site: Site) -> Iterator[Route]:
    for each in all_routes():
        yield Route(each.path, endpoint=_endpoint(site, each), methods=[each.method])


def _endpoint(site: Site, route: PageRoute) -> Handler:
    async def endpoint(request: Request) -> Response:
        page = Page(site, request, Visitor(site.sign_ins.anonymous))
        try:
            need_own_origin(request.method, request.headers)
            visitor = await site.sign_ins.visitor(request.cookies)
            if visitor is None and not route.open:
                return await _sign_in_first(page)
            page.visitor = visitor or page.visitor
            if route.writes or (route.method == "POST" and not route.open):
                _need_writer(page.visitor)
            return await route.handler(page)
        except Exception as error:  # noqa: BLE001 - every kind is shown as a page, without a trace
            return await _failed(page, as_lithos_error(error, f"the page {route.path}"))

    return endpoint  # type: ignore[return-value]


def _need_writer(visitor: Visitor) -> None:
    if not visitor.signed_in:
        raise Forbidden("a change needs a sign-in", hint="Run `lithos open`, or sign in with a token.")
    if not visitor.may_write:
        raise Forbidden("this token may only read", hint="Sign in with a token of full scope.")


async def _sign_in_first(page: Page) -> Response:
    request = page.request
    if "text/html" not in request.headers.get("accept", ""):
        answer = {"error": {"code": "forbidden", "message": "this address needs a sign-in", "hint": "Open /sign-in."}}
        return JSONResponse(answer, status_code=401)
    if request.method == "POST":
        return await _failed(page, Forbidden("this address needs a sign-in", hint="Sign in, then send it again."))
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/sign-in?next={quote(wanted)}", status_code=303)


async def _failed(page: Page, error: LithosError) -> Response:
    values = {"error": error.as_dict(), "typed": await _typed(page), "ways_out": await _ways_out(page, error)}
    return page.show("error.html", status=http_status(error), **values)


async def _ways_out(page: Page, error: LithosError) -> list[tuple[str, str]]:
    """Where to go on from an error, the nearest first: addresses and their words."""
    path, name = page.request.url.path, str(page.request.path_params.get("id", ""))
    ways = []
    if isinstance(error, Forbidden) and not page.visitor.signed_in:
        ways.append((f"/sign-in?next={quote(path)}", "Sign in"))
    if isinstance(error, NotFound) and path.startswith("/note/") and name:
        known = await page.try_call("lithos_note_history", id=name, limit=1)
        title = name.rpartition("/")[2].removesuffix(".md")
        if known and known["versions"]:
            ways.append((f"/note/{segment(name)}/history", "Its history"))
        else:
            ways.append((f"/search?q={quote(title)}", f"Search for “{title[:60]}”"))
            if page.visitor.may_write and UUID.fullmatch(name) is None:
                ways.append((f"/note-new?title={quote(title)}", "Write this note"))
    ways += [(place, word) for place, word, *_ in NAV if place != "/" and path.startswith(place)]
    return [*ways, ("/", "Home")]


async def _typed(page: Page) -> str:
    """The text of a form that was refused: a person whose sign-in has ended must not lose it."""
    if page.request.method != "POST":
        return ""
    try:
        return (await page.form()).get("content", "")
    except (LithosError, RuntimeError, ClientDisconnect):  # too large, not ours, read already
        return ""


async def _refused(site: Site, request: Request, error: Exception) -> Response:
    """Show the router's refusal of a path or a method that no page has."""
    if isinstance(error, HTTPException) and error.status_code == 404:
        visitor = await site.sign_ins.visitor(request.cookies) or Visitor(site.sign_ins.anonymous)
        return await _failed(Page(site, request, visitor), NotFound("there is no such page", hint="See the menu."))
    return Response(status_code=error.status_code if isinstance(error, HTTPException) else 500)
