"""The state of one root's graph, as `lithos code status` shows it."""

from __future__ import annotations

from typing import Any

from lithos.errors import Unavailable
from lithos.graph.code.code import OpenRoot
from lithos.graph.code.languages import shown
from lithos.graph.code.questions.questions import degraded
from lithos.graph.code.roots.tree import Tree
from lithos.storage import Tx


def root_status(root: OpenRoot) -> dict[str, Any]:
    progress, spec, tree = root.index.progress, root.spec, root.index.tree
    failed, left_out = "", dict[str, int]()
    try:
        left_out = tree.left_out()
    except (OSError, Unavailable) as error:  # one root that cannot be read must not hide the others
        failed = str(error)

    def work(tx: Tx) -> dict[str, Any]:
        languages: dict[str, int] = {}
        for row in tx.all("SELECT language, count(*) AS count FROM files WHERE reason = '' GROUP BY language"):
            name = shown(row["language"]) or "text"
            languages[name] = languages.get(name, 0) + row["count"]
        for row in tx.all("SELECT reason, count(*) AS count FROM files WHERE reason <> '' GROUP BY reason"):
            left_out[row["reason"]] = left_out.get(row["reason"], 0) + row["count"]
        counts = tx.one(
            "SELECT (SELECT count(*) FROM files WHERE reason = '') AS files, "
            "(SELECT count(*) FROM nodes WHERE type NOT IN (0, 1, 8)) AS symbols, "
            "(SELECT count(*) FROM edges) AS edges, "
            "(SELECT count(*) FROM files WHERE parsed = 2) AS unparsed, "
            "(SELECT count(*) FROM files WHERE parse_errors > 0) AS parse_errors"
        )
        return {**(counts or {}), "languages": languages}

    return {
        "name": spec.name,
        "path": spec.path,
        "include": list(spec.include),
        "exclude": list(spec.exclude),
        "users": list(spec.users),
        "configured": spec.configured,
        "state": progress.state,
        "done": progress.done,
        "total": progress.total,
        **root.store.read(work),
        "left_out": left_out,
        "git": _git(tree, failed),
        **degraded([root]),
    }


def _git(tree: Tree, failed: str) -> str:
    if tree.git_refused:
        return f"refused: {tree.git_refused}"
    return f"failed: {failed}" if failed else "used" if tree.uses_git else "none"
