"""`lithos graph`: what answers over the graph cost and saved."""

from __future__ import annotations

import typer

from lithos.cli.terminal import Terminal, join_noun, show, verb


def join(root: typer.Typer) -> None:
    join_noun(root, "graph", "Answers over code, history and sources.", stats=stats)


@verb
def stats(terminal: Terminal) -> None:
    """Show cache hits, tokens given, and tokens saved beside reading whole files, since the host started."""
    answer = terminal.ask("lithos_graph_stats")
    if terminal.as_json:
        show(answer)
        return
    cache = answer["cache"]
    print(f"questions           {answer['asked']:>10}")
    print(f"from the cache      {cache['hits']:>10}  ({cache['entries']} entries, {cache['bytes']} bytes)")
    print(f"by a model          {answer['llm']:>10}")
    print(f"tokens given        {answer['tokens_given']:>10}")
    print(f"tokens of the files {answer['tokens_of_files']:>10}")
    print(f"tokens saved        {answer['tokens_saved']:>10}")
