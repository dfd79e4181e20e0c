"""Paths that must never reach a file."""

from __future__ import annotations

HOSTILE = [
    *("", "/", ".", "..", "./", "../", "a/..", "../a", "a/../../b", "a//b", "a/", "/etc/passwd", "//etc/passwd"),
    *("a/./b", "./a.md", "...//a", "a/.../../../b", "~/.ssh/id_rsa\x00.md", "a\x00b", "a\nb", "a\rb", "a\tb", "a\x7fb"),
    *("\x1b[31m.md", "a\x85b", "a\u2028b", "a\u2029b", "a\u202eb.md", "a\u2066b", "\ud800.md", "link/secret.md"),
    *("file.md", "dangling.md", "loop/x.md", "fifo.md", "folder-link/../secret.md", "link", "link/", "link/new.md"),
    *(".lithos", ".lithos/keys/a", ".LITHOS/x", ".lithos-old-x", "a/.lithos-new-1", ".Lithos-held-x"),
    *("x" * 256, "é" * 128, "/".join("a" * 60), "a/" * 2000, "y" * 5000, "a/" + "z" * 300, "proc/self/../../.."),
    *(
        "../vault/a.md",
        "..\\a.md/../..",
        "a/b/../../../outside/secret.md",
        "\x00",
        "\x00/../x",
        "./../outside/secret.md",
    ),
    *("a/\x00/b", "link/../../outside/secret.md", "loop", "folder/..", "\u2067a"),
]
