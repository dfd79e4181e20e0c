"""Pages over HTTP and HTTPS from a server on loopback, under the names of allowed hosts."""

from __future__ import annotations

import datetime
import gzip
import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lithos.errors import Busy, Forbidden, InvalidInput, LithosError, TooLarge, Unavailable
from lithos.graph.sources.web import LARGEST, AllowedSource, Fetcher, is_public

PUBLIC = "93.184.216.34"
PAGE = b"Yaks graze high."
ENCODED = {
    "/bomb": ("gzip", gzip.compress(b"a" * (LARGEST + 1))),
    "/two": ("gzip", gzip.compress(PAGE) + gzip.compress(PAGE)),
    "/unknown": ("br", PAGE),
    "/nested": ("gzip, gzip", gzip.compress(gzip.compress(PAGE))),
}


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "page.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "page.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    return folder / "page.crt", folder / "page.key"


class Pages(http.server.BaseHTTPRequestHandler):
    stopped = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/plain":
            self._begin({"Location": "http://docs.example/yaks"}, 302)
        elif self.path == "/short":
            self._begin({"Content-Length": "1000"})
            self.wfile.write(PAGE)
        elif self.path == "/large":
            self._begin({})
            self._write(b"a" * (LARGEST + 1))
        elif self.path == "/drip":
            self._begin({})
            while not self.stopped.wait(0.01):  # never silent, never done
                self._write(b"a")
        elif self.path in ENCODED:
            encoding, data = ENCODED[self.path]
            self._begin({"Content-Encoding": encoding})
            self._write(data)
        elif self.path.startswith("/to?"):
            self._begin({"Location": self.path[4:]}, 302)
        elif self.path == "/loop":
            self._begin({"Location": "/loop"}, 302)
        elif self.headers.get("If-None-Match") == '"v1"':
            self._begin({}, 304)
        else:
            self._begin({"ETag": '"v1"', "Content-Type": "text/plain"})
            self.wfile.write(PAGE)

    def _begin(self, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
        except OSError:
            self.stopped.set()

    def log_message(self, *arguments: Any) -> None:
        return


def serve(server: http.server.ThreadingHTTPServer) -> None:
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # clients that refuse it are the test
    threading.Thread(target=server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[int, int], Path]]:
    """Port that is asked for → port on loopback; and the certificate of docs.example."""
    made, key = certificate(tmp_path_factory.mktemp("tls"), "docs.example")
    plain, secure = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) for _ in range(2))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    serve(plain)
    serve(secure)
    yield {80: plain.server_address[1], 443: secure.server_address[1]}, made
    Pages.stopped.set()
    for each in (plain, secure):
        each.shutdown()
        each.server_close()


@pytest.fixture
def fetcher(ports: tuple[dict[int, int], Path]) -> Callable[..., Fetcher]:
    def make(host: str = "docs.example", *, trusted: bool = True, **more: Any) -> Fetcher:
        sources = [AllowedSource("docs", f"https://{host}/", rate_limit_per_min=more.pop("rate", 30))]
        return Fetcher(
            sources,
            resolve=more.pop("resolve", lambda name, port: [PUBLIC]),
            connect=lambda address, port, seconds: socket.create_connection(("127.0.0.1", ports[0][port]), seconds),
            trust=(lambda: ssl.create_default_context(cafile=str(ports[1]))) if trusted else ssl.create_default_context,
            **more,
        )

    return make


def test_a_page_is_read_over_tls_and_again_by_its_etag(fetcher: Callable[..., Fetcher]) -> None:
    crawled: list[str] = []
    web = fetcher(crawled=crawled.append)
    page = web.fetch("https://docs.example/yaks")
    assert (page.data, page.etag, page.source, page.unchanged) == (PAGE, '"v1"', "docs", False)
    assert web.fetch("https://docs.example/yaks", page.etag).unchanged
    assert crawled == ["docs", "docs"]


def test_a_certificate_of_another_name_or_an_unknown_signer_is_refused(fetcher: Callable[..., Fetcher]) -> None:
    for web, url in (
        (fetcher(trusted=False), "https://docs.example/yaks"),
        (fetcher("other.example"), "https://other.example/yaks"),
    ):
        with pytest.raises(Unavailable, match="certificate"):
            web.fetch(url)


@pytest.mark.parametrize(
    ("url", "more", "error", "said"),
    [
        ("https://docs.example/short", {}, Unavailable, "ended before"),
        ("https://docs.example/drip", {"seconds": 0.4}, Unavailable, "more than 0 s"),
        ("https://docs.example/large", {}, TooLarge, "bytes"),
        ("https://docs.example/loop", {}, LithosError, "redirects"),
        ("https://docs.example/loop", {"rate": 2}, Busy, "within a minute"),
        ("https://docs.example:444/yaks", {}, Forbidden, "port"),
        ("https://docs.example.evil/yaks", {}, Forbidden, "allowed"),
        ("https://docs.example@evil/yaks", {}, Forbidden, "credentials"),
        ("https://[docs.example/yaks", {}, InvalidInput, "no http address"),
        ("https://docs.example/to?https://[evil/", {}, InvalidInput, "no address"),
        ("https://docs.example/to?//evil.example/", {}, Forbidden, "allowed"),
        ("https://docs.example/to?https://me:you@docs.example/", {}, Forbidden, "credentials"),
        ("https://docs.example/to?file:///etc/passwd", {}, InvalidInput, "no http address"),
        ("https://docs.example/bomb", {}, TooLarge, "bytes"),
        ("https://docs.example/two", {}, Unavailable, "behind the end"),
        ("https://docs.example/unknown", {}, Unavailable, "'br'"),
        ("https://docs.example/nested", {}, Unavailable, "gzip, gzip"),
    ],
)
def test_a_page_that_misbehaves_is_refused(
    fetcher: Callable[..., Fetcher], url: str, more: dict[str, Any], error: type[LithosError], said: str
) -> None:
    Pages.stopped.clear()
    with pytest.raises(error, match=said):
        fetcher(**more).fetch(url)


def test_letters_beyond_ascii_in_paths_and_hosts_are_escaped(fetcher: Callable[..., Fetcher]) -> None:
    asked: list[str] = []
    web = fetcher("bücher.example", resolve=lambda name, port: asked.append(name) or [PUBLIC])
    assert web.fetch("http://BÜCHER.example/yaks/größe?q=ü").data == PAGE
    assert web.fetch("http://bücher.example/to?/grö%C3%9Fe").data == PAGE
    assert set(asked) == {"xn--bcher-kva.example"}


def test_a_tag_that_is_none_is_not_sent(fetcher: Callable[..., Fetcher]) -> None:
    for tag in ('"v1"\r\nX: y', "☃", "v1", '"v1" '):
        assert not fetcher().fetch("https://docs.example/yaks", tag).unchanged


@pytest.mark.parametrize(
    ("address", "public"),
    [
        (PUBLIC, True),
        ("2606:4700:4700::1111", True),
        ("10.0.0.7", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("fec0::1", False),
        ("3fff::1", False),
        ("192.0.0.8", False),
        ("192.88.99.1", False),
        ("::ffff:10.0.0.7", False),
        ("2002:0a00:0007::", False),  # 6to4 of 10.0.0.7
        ("64:ff9b::a00:7", False),  # NAT64 of 10.0.0.7
        ("ff02::1", False),
    ],
)
def test_only_addresses_of_the_internet_are_asked(address: str, public: bool) -> None:
    assert is_public(address) is public
