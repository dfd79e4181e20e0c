"""Fetches pages of allowed hosts. Every hop is checked: host, port, address; the connection goes to that address.

No proxy, no cookies, no credentials. Resolver and connector are given from outside; tests put loopback there.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from lithos.errors import Busy, Forbidden, InvalidInput, NotFound, TooLarge, Unavailable

LARGEST = 20 * 1024 * 1024  # after decompression
SECONDS = 30.0
MOST_HOPS = 5
PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str, int], Sequence[str]]  # host, port → addresses
Connect = Callable[[str, int, float], socket.socket]  # address, port, seconds
_KEPT = "".join(chr(each) for each in range(33, 127))  # everything else of a path is escaped
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,500}"')
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Special ones that Python of some versions calls global: of protocols, relays, sites and documentation.
_SPECIAL = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20")))


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
        return frozenset(host for url in urls if (host := _host(urlsplit(url))))


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
        hint = "Is there a network, and the name right? Or save the page as a file and ingest that."
        raise Unavailable(f"{host} cannot be resolved: {error.strerror or error}", hint=hint) from None
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
        trust: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        clock: Callable[[], float] = time.monotonic,
        seconds: float = SECONDS,
        crawled: Callable[[str], None] = lambda name: None,
    ) -> None:
        """`trust`: whose certificates count. `crawled` hears the name of each source that answered."""
        self.sources = tuple(sources)
        self._resolve = resolve
        self._connect = connect
        self._trust = trust
        self._clock = clock
        self._seconds = seconds
        self._crawled = crawled
        self._calls: dict[str, list[float]] = {}

    def fetch(self, url: str, etag: str = "") -> Page:
        """The page, after at most a few redirects; every hop is checked as the first one is."""
        deadline = self._clock() + self._seconds
        for _ in range(MOST_HOPS + 1):
            source, host, port, target = self._checked(url)
            self._count(source)
            address = self._address(host, port)
            with self._asked(url, host, address, port, target, etag, deadline) as response:
                if response.status in (301, 302, 303, 307, 308) and response.getheader("Location"):
                    url = _joined(url, str(response.getheader("Location")))
                    continue
                page = self._page(url, response, source, etag)
            self._crawled(source.name)
            return page
        raise InvalidInput(f"{url[:120]} redirects more than {MOST_HOPS} times")

    def _checked(self, url: str) -> tuple[AllowedSource, str, int, str]:
        parts = _split(url)
        if parts.scheme not in PORTS or not _host(parts):
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
        host = _host(parts)
        source = next((each for each in self.sources if host in each.hosts), None)
        if source is None:
            allowed = ", ".join(sorted(host for each in self.sources for host in each.hosts)) or "none"
            raise Forbidden(
                f"{host} is no allowed source",
                hint=f"The operator lists hosts in academic.sources. Allowed: {allowed}.",
            )
        if source.requires_auth:
            raise Forbidden(
                f"{source.name} needs credentials, which Lithos does not send", hint="Save the page as a file."
            )
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        return source, host, port, quote(target, safe=_KEPT)

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
            if not is_public(each):
                raise Forbidden(
                    f"{host} leads to {each}, which is no public address",
                    hint="Save the page as a file and ingest that.",
                )
        return found[0]

    @contextmanager
    def _asked(
        self, url: str, host: str, address: str, port: int, target: str, etag: str, deadline: float
    ) -> Iterator[HTTPResponse]:
        """The response. All of it must come before the deadline: a timeout of a socket counts from the last byte, so
        that a server could drip for hours."""
        left = max(0.1, deadline - self._clock())
        late = threading.Event()
        connection = HTTPConnection(host, port, timeout=left)
        timer = wire_again = None
        try:
            wire = self._connect(address, port, left)
            wire_again = wire.dup()  # the connection forgets its socket, and TLS takes it over
            timer = threading.Timer(left, _end, (wire_again, late))
            timer.daemon = True
            timer.start()
            wire.settimeout(left)
            secure = url.startswith("https:")
            connection.sock = self._trust().wrap_socket(wire, server_hostname=host) if secure else wire
            headers = {"Host": host, "User-Agent": "lithos", "Accept-Encoding": "gzip, deflate", "Accept": "*/*"}
            if _ETAG.fullmatch(etag):  # it comes from a note, which a person may have edited
                headers["If-None-Match"] = etag
            connection.request("GET", target, headers=headers)
            yield connection.getresponse()
            if late.is_set():
                raise TimeoutError
        except (OSError, HTTPException, zlib.error) as error:
            why = f"it took more than {self._seconds:.0f} s" if late.is_set() else str(error)
            raise Unavailable(f"{host} could not be read: {why}") from None
        finally:
            if timer is not None:
                timer.cancel()
            if wire_again is not None:
                wire_again.close()
            connection.close()

    def _page(self, url: str, response: HTTPResponse, source: AllowedSource, etag: str) -> Page:
        kind = str(response.getheader("Content-Type") or "")
        if response.status == 304 and etag:
            return Page(url, b"", kind, etag, unchanged=True, source=source.name)
        if response.status == 404:
            raise NotFound(f"there is no page {url[:200]}")
        if response.status != 200:
            raise Unavailable(f"{url[:200]} answers with status {response.status}")
        return Page(url, _body(response), kind, str(response.getheader("ETag") or ""), source=source.name)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # brackets without an address in them
        raise InvalidInput(f"{url[:120]!r} is no http address", hint="Use https://….") from None


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location.encode("latin-1").decode("utf-8", "replace"))
    except ValueError:
        raise InvalidInput(f"{url[:120]} redirects to {location[:120]!r}, which is no address") from None


def _host(parts: SplitResult) -> str:
    """As DNS and certificates write it; empty where there is none."""
    host = (parts.hostname or "").lower()
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return ""


def _body(response: HTTPResponse) -> bytes:
    """Whole, decompressed and bounded; raises HTTPException where the connection ended before the page did."""
    encoding = str(response.getheader("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise HTTPException(f"its encoding is {encoding[:40]!r}, which was not asked for")
    inflate = None if encoding == "identity" else zlib.decompressobj(47)
    body = bytearray()
    while part := response.read(64 * 1024):
        body += part if inflate is None else inflate.decompress(part, LARGEST + 1 - len(body))
        if len(body) > LARGEST or (inflate is not None and inflate.unconsumed_tail):
            raise TooLarge(f"the page has more than {LARGEST} bytes")
        if inflate is not None and inflate.unused_data:
            raise HTTPException("it goes on behind the end of its compressed data")
    if response.length or (inflate is not None and not inflate.eof):
        raise HTTPException("the connection ended before the page did")
    return bytes(body)


def _end(wire: socket.socket, late: threading.Event) -> None:
    """Wakes the thread that reads from it."""
    late.set()
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


def is_public(address: str) -> bool:
    """Whether an address is of the internet: also the one that is wrapped in an address of IPv6."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is not None:
            return is_public(str(inner))
    special = found.is_multicast or found.is_reserved or found.is_unspecified or found.is_loopback
    return found.is_global and not special and not any(found in each for each in _SPECIAL)
