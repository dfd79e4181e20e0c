"""`lithos work`: worktrees of sessions from the command line."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from lithos.cli.session import Agent, ask
from lithos.cli.terminal import Terminal, ago, join_noun, table, verb

Session = Annotated[str | None, typer.Option("--session", help="The session's id.  [default: the agent's current one]")]
Project = Annotated[str | None, typer.Option("--project", help="Which of workshop.projects.")]
Category = Annotated[str, typer.Argument(help="linter, formatter, type_checker, test_framework or lsp.")]
Paths = Annotated[list[str] | None, typer.Argument(help="Files or folders.  [default: what differs from the base]")]
Pipeline = Annotated[str | None, typer.Option("--pipeline", help="A pipeline of the session.")]


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "work",
        "Worktrees of sessions: commands, checks, tests, commits and merges in them.",
        open=open_worktree,
        list=list_worktrees,
        close=close,
        run=run,
        result=result,
        diff=diff,
        commit=commit,
        merge=merge,
        discover=discover,
        choose=choose,
        check=check,
        test=test,
    )


@verb
def open_worktree(
    terminal: Terminal,
    session: Session = None,
    project: Project = None,
    base_branch: Annotated[str | None, typer.Option("--base-branch", help="The branch it starts from.")] = None,
    pipeline: Pipeline = None,
    agent: Agent = None,
) -> None:
    """Check a project out for a session; prints the folder."""
    wanted = {"session_id": session, "project": project, "base_branch": base_branch, "pipeline": pipeline}
    answer = ask(terminal, "lithos_worktree_open", wanted, agent)
    terminal.tell(answer, answer["path"])


@verb
def list_worktrees(
    terminal: Terminal,
    session: Session = None,
    closed: Annotated[bool, typer.Option("--closed", help="Closed ones too.")] = False,
    agent: Agent = None,
) -> None:
    """List the worktrees of a session."""
    answer = ask(terminal, "lithos_worktree_list", {"session_id": session, "closed": closed}, agent)
    terminal.tell(answer, _print_worktrees)


@verb
def close(
    terminal: Terminal,
    worktree_id: Annotated[str | None, typer.Argument(help="The worktree's id; default: the session's.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Throw uncommitted work away.")] = False,
    session: Session = None,
    project: Project = None,
    pipeline: Pipeline = None,
    agent: Agent = None,
) -> None:
    """Remove a checkout; its branch stays."""
    place = {"session_id": session, "project": project, "pipeline": pipeline}
    answer = ask(terminal, "lithos_worktree_close", {"worktree_id": worktree_id, "force": force, **place}, agent)
    terminal.tell(answer, f"closed; its branch stays: {answer['branch']}")


@verb
def run(
    terminal: Terminal,
    argv: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.")],
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds.")] = None,
    network: Annotated[bool, typer.Option("--network", help="With network, if workshop.network allows it.")] = False,
    session: Session = None,
    project: Project = None,
    pipeline: Pipeline = None,
    agent: Agent = None,
) -> None:
    """Run a program in the worktree, in a sandbox. Its exit code is ours; 124 if a limit ended it."""
    place = {"session_id": session, "project": project, "pipeline": pipeline}
    given = {"argv": argv, "timeout": timeout, "network": network, **place}
    _end(terminal, _finished(terminal, "lithos_work_run", given, agent))


@verb
def result(
    terminal: Terminal,
    run_id: Annotated[str, typer.Argument(help="The run's id.")],
    session: Session = None,
    agent: Agent = None,
) -> None:
    """The result of a run that took longer than its call."""
    _end(terminal, ask(terminal, "lithos_work_result", {"run_id": run_id, "session_id": session}, agent))


@verb
def diff(terminal: Terminal, session: Session = None, pipeline: Pipeline = None, agent: Agent = None) -> None:
    """Everything that a worktree changed against its base."""
    answer = ask(terminal, "lithos_work_diff", {"session_id": session, "pipeline": pipeline}, agent)
    untracked = "".join(f"new: {each}\n" for each in answer["untracked"])
    terminal.tell(answer, f"{answer['diff']}{untracked}".rstrip("\n"))


@verb
def commit(
    terminal: Terminal,
    message: Annotated[str, typer.Argument(help="What the commit does.")],
    session: Session = None,
    pipeline: Pipeline = None,
    agent: Agent = None,
) -> None:
    """Commit all changes of a worktree to its branch."""
    wanted = {"message": message, "session_id": session, "pipeline": pipeline}
    answer = ask(terminal, "lithos_work_commit", wanted, agent)
    said = f"{answer['commit'][:12]} on {answer['branch']}, {answer['files']} files"
    terminal.tell(answer, said if answer["committed"] else "nothing to commit")


@verb
def merge(
    terminal: Terminal,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether it would conflict.")] = False,
    session: Session = None,
    project: Project = None,
    agent: Agent = None,
) -> None:
    """Merge a session's branch; prints the command that takes the result over. Conflicts set the exit code."""
    wanted = {"dry_run": dry_run, "session_id": session, "project": project}
    answer = ask(terminal, "lithos_work_merge", wanted, agent)
    terminal.tell(answer, _print_merge)
    if answer["conflicts"]:
        raise typer.Exit(1)


@verb
def discover(
    terminal: Terminal,
    category: Category,
    path: Annotated[str, typer.Argument(help="A file or folder of the worktree.")] = ".",
    refresh: Annotated[bool, typer.Option("--refresh", help="Read the project again.")] = False,
    session: Session = None,
    project: Project = None,
    agent: Agent = None,
) -> None:
    """Which tools the project uses, and where it says so."""
    wanted = {"category": category, "path": path, "force_refresh": refresh, "session_id": session, "project": project}
    terminal.tell(ask(terminal, "lithos_tools_discover", wanted, agent), _print_tools)


@verb
def choose(
    terminal: Terminal,
    category: Category,
    language: Annotated[str, typer.Argument(help="python, typescript, go, …")],
    tool: Annotated[str, typer.Argument(help='Its name, or a command as "make lint".')],
    session: Session = None,
    project: Project = None,
    agent: Agent = None,
) -> None:
    """Choose a tool for this project; it wins from now on."""
    wanted = {"category": category, "language": language, "tool": tool, "session_id": session, "project": project}
    answer = ask(terminal, "lithos_tools_choose", wanted, agent)
    terminal.tell(answer, f"{answer['tool']} for {answer['language']} in {answer['project']}")


@verb
def check(
    terminal: Terminal,
    paths: Paths = None,
    session: Session = None,
    project: Project = None,
    pipeline: Pipeline = None,
    agent: Agent = None,
) -> None:
    """Lint, check format and types of what changed. Exit code 1 if anything is new or a tool failed."""
    wanted = {"paths": paths or None, "session_id": session, "project": project, "pipeline": pipeline}
    answer = _finished(terminal, "lithos_work_check", wanted, agent)
    terminal.tell(answer, _print_check)
    raise typer.Exit(0 if answer["passed"] else 1)


@verb
def test(
    terminal: Terminal,
    paths: Paths = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every test, not only those that the change touches.")
    ] = False,
    coverage: Annotated[bool, typer.Option("--coverage", help="Show touched lines that no test ran.")] = False,
    session: Session = None,
    project: Project = None,
    pipeline: Pipeline = None,
    agent: Agent = None,
) -> None:
    """Run the tests that the change touches. Exit code 1 unless they pass."""
    wanted = {"paths": paths or None, "scope": "all" if everything else "task", "coverage": coverage}
    place = {"session_id": session, "project": project, "pipeline": pipeline}
    answer = _finished(terminal, "lithos_work_test", {**wanted, **place}, agent)
    terminal.tell(answer, _print_test)
    raise typer.Exit(0 if answer["passed"] else 1)


def _finished(terminal: Terminal, tool: str, given: dict[str, Any], agent: str | None) -> dict[str, Any]:
    """The answer of a job, waited for over as many calls as it takes."""
    who = agent or terminal.settings.server.agent or "cli"
    with terminal.calls(makes=lambda: True) as call:
        answer = call(tool, {**{name: value for name, value in given.items() if value is not None}, "agent": who})
        while answer.get("pending"):
            answer = call("lithos_work_result", {"run_id": answer["run_id"], "agent": who})
    return answer


def _end(terminal: Terminal, answer: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.tell(answer, "")
    elif answer.get("pending"):
        print(f"still running: lithos work result {answer['run_id']}")
    else:
        sys.stdout.write(answer["stdout"])
        sys.stderr.write(answer["stderr"])
        if answer.get("killed_by"):
            print(f"lithos: ended by its limit: {answer['killed_by']}", file=sys.stderr)
    code = answer.get("exit_code")
    raise typer.Exit(124 if answer.get("killed_by") else code or 0)


def _print_worktrees(answer: dict[str, Any]) -> None:
    rows = [
        (each["worktree_id"], each["state"], ago(each["used_at"]), each["project"], each["branch"])
        for each in answer["worktrees"]
    ]
    table(("worktree", "state", "used", "project", "branch"), rows, "No worktree is open.")


def _print_merge(answer: dict[str, Any]) -> None:
    if answer["conflicts"]:
        print(f"{answer['source']} conflicts with {answer['into']}:")
        for each in answer["conflicts"]:
            print(f"  {each['path']}")
        if "task_id" in answer:
            print(f"task: {answer['task_id']}")
    elif answer.get("merged"):
        print(f"merged onto {answer['branch']}" + (", and the base moved forward" if answer["base_updated"] else ""))
        if "command" in answer:
            print(f"take it over: {' '.join(answer['command'])}")
    else:
        print("it merges cleanly" if answer.get("clean") else "nothing to merge")


def _print_tools(answer: dict[str, Any]) -> None:
    rows = [
        (each["name"], each.get("version", ""), each["language"], each["confidence"], each["source"], _installed(each))
        for each in answer["tools"]
    ]
    if rows:
        table(("tool", "version", "language", "confidence", "source", "installed"), rows)
    for each in answer.get("user_options", ()):
        mark = " (recommended)" if each["recommended"] else ""
        print(f"option: {each['tool']['name']} for {each['tool']['language']}{mark}: {'; '.join(each['pros'])}")
    if "note" in answer:
        print(answer["note"])


def _installed(tool: dict[str, Any]) -> str:
    return "yes" if tool["is_installed"] else " ".join(tool.get("install_cmd", ["no"]))


def _print_check(answer: dict[str, Any]) -> None:
    for each in answer["issues"]:
        where = ":".join(str(each[name]) for name in ("file", "line", "column") if name in each)
        print(f"{where}: {each['severity']}: {each['message']} [{each['tool']} {each.get('code', '')}".rstrip() + "]")
    for each in answer["tools"]:
        if "problem" in each:
            print(f"{each['tool']}: {each['problem']}")
    known = f", {len(answer['before'])} were there before" if answer["before"] else ""
    print(answer.get("note") or f"{len(answer['issues'])} new in {answer['files']} files{known}")


def _print_test(answer: dict[str, Any]) -> None:
    for each in answer["failures"]:
        where = f"{each['file']}:{each['line']}" if "line" in each else each["file"]
        print(
            f"{where}: {each['test_name']}: {each['message'].splitlines()[0]}" + (" (flaky)" if "flaky" in each else "")
        )
    for suite in answer["suites"]:
        if "problem" in suite:
            print(f"{suite['tool']}: {suite['problem']}")
    for path, lines in answer.get("uncovered", {}).items():
        print(f"{path}: no test ran line {', '.join(map(str, lines))}")
    print(f"{answer['tests_passed']} of {answer['tests_run']} passed, {answer['skipped']} skipped")
    if "note" in answer:
        print(answer["note"])
