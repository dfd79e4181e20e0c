"""Verbs that people try first because other programs call them so; the refusal names ours."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typer.core import TyperGroup

_MAKE, _LOOK, _END = ("new", "create", "write", "add"), ("show", "list"), ("delete", "remove", "revoke", "drop")
OTHER_WORDS = {
    **dict.fromkeys(("new", "create", "add", "make", "write"), _MAKE),
    **dict.fromkeys(("read", "get", "view", "cat", "show", "open", "info"), _LOOK),
    **dict.fromkeys(("list", "ls", "all"), ("list", "show")),
    **dict.fromkeys(("rm", "delete", "remove", "del", "revoke"), _END),
    **dict.fromkeys(("mv", "rename"), ("move",)),
    **dict.fromkeys(("done", "close", "finish"), ("complete", "close")),
    **dict.fromkeys(("find", "query"), ("search",)),
    **dict.fromkeys(("init", "install", "config"), ("setup",)),
    **dict.fromkeys(("start", "run"), ("serve",)),
    **dict.fromkeys(("notes",), ("note",)),
}


@cache
def noun_class() -> type[TyperGroup]:
    from typer.core import TyperGroup

    class Noun(TyperGroup):
        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            known = self.list_commands(ctx)
            meant = [each for each in OTHER_WORDS.get(args[0], ()) if each in known] if args else []
            if meant and args[0] not in known:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {meant[0]!r}?")
            return super().resolve_command(ctx, args)

    return Noun
