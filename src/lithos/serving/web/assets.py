"""Static files of the wheel: each under a name with its hash, kept by browsers for a year."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

ONE_YEAR = "public, max-age=31536000, immutable"
TEXTS = (".css", ".js", ".svg", ".json", ".txt", ".webmanifest")
TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json"}


@dataclass(frozen=True, slots=True)
class Asset:
    url: str
    data: bytes
    zipped: bytes | None
    type: str


class Assets:
    def __init__(self) -> None:
        folder = files("lithos.serving.web") / "static"
        self._by_name = {name: _asset(name, file.read_bytes()) for name, file in _walk(folder, "")}
        self._by_url = {each.url: each for each in self._by_name.values()}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def url(self, name: str) -> str:
        return self._by_name[name].url

    async def serve(self, request: Request) -> Response:
        asset = self._by_url.get(request.url.path)
        if asset is None:
            return Response("Not Found", status_code=404, media_type="text/plain")
        headers = {"cache-control": ONE_YEAR, "vary": "Accept-Encoding"}
        if asset.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(asset.zipped, headers={**headers, "content-encoding": "gzip"}, media_type=asset.type)
        return Response(asset.data, headers=headers, media_type=asset.type)


def _asset(name: str, data: bytes) -> Asset:
    stem, dot, ending = name.rpartition(".")
    url = f"/static/{stem}.{hashlib.sha256(data).hexdigest()[:12]}{dot}{ending}"
    kind = TYPES.get(dot + ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Asset(url, data, gzip.compress(data, 9, mtime=0) if dot + ending in TEXTS else None, kind)


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            found += _walk(each, f"{prefix}{each.name}/")
        elif not each.name.startswith("."):
            found.append((prefix + each.name, each))
    return found
