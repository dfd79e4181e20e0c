"""A wire that tests can cut: a proxy before PostgreSQL, or before an HTTP server, that looks at what passes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

Look = Callable[[bytes], bool]  # True: cut the wire now


class Wire:
    """Listens on loopback and passes everything on to a server's socket, until it is told to cut."""

    def __init__(self, server: str) -> None:
        """`server`: a PostgreSQL address with the folder of its socket, or http://127.0.0.1:PORT."""
        self._server = urlsplit(server)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut_after_sending: Look = lambda data: False  # the server gets it, its answer is lost
        self.cut_before_sending: Look = lambda data: False  # the server never gets it
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str = "postgres", **query: str) -> str:
        more = "&".join(f"{name}={value}" for name, value in query.items())
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable{'&' + more if more else ''}"

    def cut(self) -> None:
        """Every connection that is open now ends."""
        pairs, self._open = self._open, []
        for each in pairs:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._connected()
                self._open += [client, server]
                threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _connected(self) -> socket.socket:
        if self._server.scheme == "http":
            return socket.create_connection(("127.0.0.1", self._server.port or 80))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{parse_qs(self._server.query)['host'][0]}/.s.PGSQL.5432")
        return server

    def _pass(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if asking and self.cut_before_sending(data):
                    break
                lost = asking and self.cut_after_sending(data)
                if lost:
                    source.shutdown(socket.SHUT_RDWR)  # first, so that no answer can slip through
                target.sendall(data)
                if lost:
                    return
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
