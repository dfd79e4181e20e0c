"""Signing in: with a token through a form, or with the one-time code of `lithos open`; and signing out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.visitors import COOKIE

KEPT_SECONDS = 30 * 24 * 3600


async def form(page: Page) -> Response:
    return page.show("sign_in.html", next=_local(page.given("next")), problem="")


async def with_token(page: Page) -> Response:
    fields = await page.form()
    secret, wanted = fields.get("token", "").strip(), _local(fields.get("next", ""))
    if not secret or await page.site.sign_ins.with_token(secret) is None:
        problem = "This token is unknown or revoked. `lithos token new` makes one."
        return page.show("sign_in.html", status=401, next=wanted, problem=problem)
    return _kept(page.request, RedirectResponse(wanted, status_code=303), f"t.{secret}")


async def with_code(page: Page) -> Response:
    cookie = page.site.sign_ins.redeem(page.given("code"))
    if cookie is None and page.visitor.signed_in:  # the address was opened twice
        return page.go("/")
    if cookie is None:
        problem = "This code was used already, or is older than two minutes. Run `lithos open` again."
        return page.show("sign_in.html", status=401, next="/", problem=problem)
    return _kept(page.request, RedirectResponse(_local(page.given("next")), status_code=303), cookie)


async def sign_out(page: Page) -> Response:
    page.site.sign_ins.end(page.request.cookies.get(COOKIE))
    answer = RedirectResponse("/", status_code=303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
    return answer


def _kept(request: Request, answer: Response, value: str) -> Response:
    # Lax, not Strict: a link to a note in a chat must find the reader signed in. Changes check their origin.
    secure = request.headers.get("origin", "").startswith("https://")  # behind a proxy only the browser knows
    answer.set_cookie(COOKIE, value, KEPT_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
    return answer


def _local(path: str) -> str:
    """A path of ours; no other site, also not by `//host` or a backslash."""
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if safe else "/"


ROUTES = (
    PageRoute("/sign-in", form, open=True),
    PageRoute("/sign-in", with_token, "POST", open=True),
    PageRoute("/enter", with_code, open=True),
    PageRoute("/sign-out", sign_out, "POST", open=True),
)
