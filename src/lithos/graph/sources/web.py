"""Fetches pages of allowed hosts. Every hop is checked: host, port, address; the connection goes to that address.

No proxy, no cookies, no credentials. Resolver and connector are given from outside; tests put loopback there.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import urljoin, urlsplit

from lithos.errors import Busy, Forbidden, InvalidInput, NotFound, TooLarge, Unavailable

LARGEST = 20 * 1024 * 1024  # after decompression
SECONDS = 30.0
MOST_HOPS = 5
PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str, int], Sequence[str]]  # host, port → addresses
Connect = Callable[[str, int, float], socket.socket]  # address, port, seconds


@dataclass(frozen=True, slots=True)
class AllowedSource:
    """One host of `academic.sources`."""

    name: str
    base_url: str
    api_endpoint: str = ""
    rate_limit_per_min: int = 30
    requires_auth: bool = False

    @property
    def hosts(self) -> frozenset[str]:
        urls = (each for each in (self.base_url, self.api_endpoint) if each)
        return frozenset(host.lower() for url in urls if (host := urlsplit(url).hostname))


@dataclass(frozen=True, slots=True)
class Page:
    url: str  # after redirects
    data: bytes
    content_type: str
    etag: str
    unchanged: bool = False  # the server says that it is as the etag names it
    source: str = ""  # name of the allowed source


def system_resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unavailable(f"{host} cannot be resolved: {error.strerror or error}") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def system_connect(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), seconds)


class Fetcher:
    def __init__(
        self,
        sources: Sequence[AllowedSource],
        *,
        resolve: Resolve = system_resolve,
        connect: Connect = system_connect,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = tuple(sources)
        self._resolve = resolve
        self._connect = connect
        self._clock = clock
        self._calls: dict[str, list[float]] = {}

    def fetch(self, url: str, etag: str = "") -> Page:
        """The page, after at most a few redirects; every hop is checked as the first one is."""
        deadline = self._clock() + SECONDS
        for _ in range(MOST_HOPS + 1):
            source, host, port, target = self._checked(url)
            self._count(source)
            address = self._address(host, port)
            response, close = self._ask(url, host, address, port, target, etag, deadline)
            try:
                if response.status in (301, 302, 303, 307, 308) and response.getheader("Location"):
                    url = urljoin(url, str(response.getheader("Location")))
                    continue
                return self._page(url, response, source, etag, deadline)
            finally:
                close()
        raise InvalidInput(f"{url[:120]} redirects more than {MOST_HOPS} times")

    def _checked(self, url: str) -> tuple[AllowedSource, str, int, str]:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise InvalidInput(f"{url[:120]!r} is no http address", hint="Use https://….")
        if parts.username is not None or parts.password is not None:
            raise Forbidden("the address holds credentials", hint="Leave them out; Lithos sends none.")
        if re.search(r"[\s\x00-\x1f]", url):
            raise InvalidInput("the address holds a blank or control character")
        try:
            port = parts.port or PORTS[parts.scheme]
        except ValueError:
            raise InvalidInput(f"{url[:120]!r} has a wrong port") from None
        if port not in PORTS.values():
            raise Forbidden(f"port {port} is not asked", hint="Only ports 80 and 443 are.")
        host = parts.hostname.lower()
        source = next((each for each in self._sources if host in each.hosts), None)
        if source is None:
            allowed = ", ".join(sorted(host for each in self._sources for host in each.hosts)) or "none"
            raise Forbidden(
                f"{host} is no allowed source",
                hint=f"The operator lists hosts in academic.sources. Allowed: {allowed}.",
            )
        if source.requires_auth:
            raise Forbidden(
                f"{source.name} needs credentials, which Lithos does not send", hint="Save the page as a file."
            )
        target = parts.path or "/"
        return source, host, port, f"{target}?{parts.query}" if parts.query else target

    def _count(self, source: AllowedSource) -> None:
        now = self._clock()
        calls = self._calls.setdefault(source.name, [])
        calls[:] = [each for each in calls if now - each < 60]
        if len(calls) >= source.rate_limit_per_min:
            wait = int((60 - (now - calls[0])) * 1000)
            raise Busy(f"{source.name} was asked {len(calls)} times within a minute", retry_after_ms=wait)
        calls.append(now)

    def _address(self, host: str, port: int) -> str:
        """All addresses must be public: one private among them is how a name is rebound."""
        found = [*self._resolve(host, port)]
        if not found:
            raise Unavailable(f"{host} has no address")
        for each in found:
            if not ipaddress.ip_address(each.partition("%")[0]).is_global:
                raise Forbidden(f"{host} leads to {each}, which is no public address")
        return found[0]

    def _ask(
        self, url: str, host: str, address: str, port: int, target: str, etag: str, deadline: float
    ) -> tuple[HTTPResponse, Callable[[], None]]:
        left = max(0.1, deadline - self._clock())
        try:
            plain = self._connect(address, port, left)
            plain.settimeout(left)
            secure = url.startswith("https:")
            wire = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
            connection = HTTPConnection(host, port, timeout=left)
            connection.sock = wire
            headers = {"Host": host, "User-Agent": "lithos", "Accept-Encoding": "gzip, deflate", "Accept": "*/*"}
            connection.request("GET", target, headers={**headers, **({"If-None-Match": etag} if etag else {})})
            return connection.getresponse(), connection.close
        except (OSError, HTTPException) as error:
            raise Unavailable(f"{host} could not be asked: {error}") from None

    def _page(self, url: str, response: HTTPResponse, source: AllowedSource, etag: str, deadline: float) -> Page:
        kind = str(response.getheader("Content-Type") or "")
        if response.status == 304 and etag:
            return Page(url, b"", kind, etag, unchanged=True, source=source.name)
        if response.status == 404:
            raise NotFound(f"there is no page {url[:200]}")
        if response.status != 200:
            raise Unavailable(f"{url[:200]} answers with status {response.status}")
        data = self._body(response, deadline)
        return Page(url, data, kind, str(response.getheader("ETag") or ""), source=source.name)

    def _body(self, response: HTTPResponse, deadline: float) -> bytes:
        encoding = str(response.getheader("Content-Encoding") or "").lower()
        inflate = zlib.decompressobj(47) if encoding in ("gzip", "deflate", "x-gzip") else None
        body = bytearray()
        while True:
            if self._clock() > deadline:
                raise Unavailable(f"the page took more than {SECONDS:.0f} s")
            try:
                part = response.read(64 * 1024)
                if not part:
                    return bytes(body)
                body += inflate.decompress(part, LARGEST + 1 - len(body)) if inflate is not None else part
            except (OSError, HTTPException, zlib.error) as error:
                raise Unavailable(f"the page could not be read: {error}") from None
            if len(body) > LARGEST or (inflate is not None and inflate.unconsumed_tail):
                raise TooLarge(f"the page has more than {LARGEST} bytes")
