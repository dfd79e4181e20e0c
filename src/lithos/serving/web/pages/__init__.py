"""One module per page: handlers, and `ROUTES` at its end. A new module is named here."""

from __future__ import annotations

from lithos.serving.web.page import PageRoute


def all_routes() -> list[PageRoute]:
    from lithos.serving.web import live
    from lithos.serving.web.pages import (
        agents,
        board,
        garden,
        graph,
        health,
        home,
        ledger,
        mail,
        note,
        note_history,
        search,
        sign_in,
    )

    first = (home, search, note_history, note, graph, board, ledger, garden, mail)
    modules = (*first, agents, health, sign_in, live)
    return [route for module in modules for route in module.ROUTES]
