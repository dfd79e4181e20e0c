"""Output of a run: the head and the tail are kept, the middle is dropped while it is read."""

from __future__ import annotations

from collections import deque


class Output:
    """Keeps at most `most` bytes: half from the beginning, half from the end."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.dropped = 0

    def add(self, part: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += part[:room]
            part = part[room:]
        if not part:
            return
        self._tail.append(part)
        self._tail_size += len(part)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._half:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self.dropped += len(gone)

    def bytes(self) -> bytes:
        tail = b"".join(self._tail)
        surplus = max(len(tail) - self._half, 0)
        dropped = self.dropped + surplus
        if not dropped:
            return bytes(self._head) + tail
        return bytes(self._head) + b"\n[... %d bytes left out ...]\n" % dropped + tail[surplus:]

    @property
    def truncated(self) -> bool:
        return self.dropped > 0 or self._tail_size > self._half
