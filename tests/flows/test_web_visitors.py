"""Who may look at the page and change things through it: over real HTTP, as browsers and other sites would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.settings import ServerSettings
from tests.support.wire import serving

OPEN = ServerSettings(host="0.0.0.0")  # the rules of an address that others can reach; the tests bind loopback
HTML = {"accept": "text/html"}


@pytest.fixture
def browser(lithos: Lithos) -> Iterator[httpx.Client]:
    with serving(lithos) as (url, _), _browser(url) as client:
        yield client


@pytest.fixture
def far_browser(lithos: Lithos) -> Iterator[httpx.Client]:
    with serving(lithos, OPEN) as (url, _), _browser(url) as client:
        yield client


def _browser(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers=HTML, timeout=60, verify=False)


def _token(lithos: Lithos, **facts: Any) -> str:
    return lithos.tokens.new(Call("lithos_token_new"), "test", **facts)["token"]


def _post(client: httpx.Client, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
    origin = {"origin": str(client.base_url).rstrip("/"), **headers}
    return client.post(path, data=fields, headers={key.replace("_", "-"): value for key, value in origin.items()})


def test_on_loopback_everyone_reads_under_a_strict_policy(browser: httpx.Client) -> None:
    shown = browser.get("/")
    assert shown.status_code == 200
    assert "Sign in" in shown.text
    policy = shown.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in shown.text
    assert " style=" not in shown.text
    assert shown.headers["referrer-policy"] == "same-origin"
    assert "set-cookie" not in shown.headers


def test_elsewhere_the_page_asks_for_a_token_and_keeps_it_in_a_cookie(
    far_browser: httpx.Client, lithos: Lithos
) -> None:
    first = far_browser.get("/?y=1")
    assert (first.status_code, first.headers["location"]) == (303, "/sign-in?next=/%3Fy%3D1")
    assert far_browser.get("/", headers={"accept": "application/json"}).status_code == 401
    assert far_browser.get("/no-such-page").status_code == 404
    wrong = _post(far_browser, "/sign-in", {"token": "lithos_wrong"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    signed = _post(far_browser, "/sign-in", {"token": _token(lithos), "next": "//evil.example"})
    assert (signed.status_code, signed.headers["location"]) == (303, "/")
    cookie = signed.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "Sign out" in far_browser.get("/").text
    _post(far_browser, "/sign-out", {})
    assert far_browser.get("/").status_code == 303


def test_a_revoked_token_ends_its_visit(far_browser: httpx.Client, lithos: Lithos) -> None:
    _post(far_browser, "/sign-in", {"token": _token(lithos)})
    assert far_browser.get("/").status_code == 200
    lithos.tokens.revoke(Call("lithos_token_revoke"), lithos.tokens.list()["tokens"][0]["id"])
    assert far_browser.get("/").status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},  # another program of this machine: the cookie would be sent
        {"origin": "http://127.0.0.1"},
        {"origin": "file://"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {},
    ],
)
def test_a_post_of_another_origin_is_refused(browser: httpx.Client, lithos: Lithos, headers: dict[str, str]) -> None:
    answer = browser.post("/sign-in", data={"token": _token(lithos)}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_first_request_for_a_page_imports_it_and_mcp_does_not() -> None:
    import subprocess
    import sys

    code = "import sys, lithos.serving; print([m for m in sys.modules if m.startswith(('jinja2', 'markdown_it'))])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/register", "/mcp/other"])
def test_what_mcp_clients_look_for_is_not_the_page(browser: httpx.Client, path: str) -> None:
    answer = browser.get(path)
    assert (answer.status_code, answer.text) == (404, "Not Found")
