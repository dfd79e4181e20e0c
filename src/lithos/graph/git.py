"""Git: the one way Lithos runs git. A repository is a stranger's data: nothing in it may make git run anything.

git reads no system or user configuration here, and every setting of the repository that names a program (hooks,
filters, drivers, pagers, helpers …) is overridden with an empty value on each call.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lithos.errors import Forbidden, TooLarge, Unavailable, Unsupported
from lithos.graph.polling import readable

TIMEOUT_S = 30.0
MOST_OUTPUT = 256 * 1024 * 1024  # bytes; 100,000 paths are 8 MB
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
}
_ALWAYS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.sshCommand": "false",
    "core.editor": "false",
    "core.pager": "cat",
    "core.askPass": "false",
    "core.quotePath": "false",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
# Settings of a repository that name a program; each one found is emptied.
_NAMES_A_PROGRAM = re.compile(
    r"filter\..*\.(?:clean|smudge|process|required)|diff\..*\.(?:textconv|command|cachetextconv)|merge\..*\.driver"
    r"|core\.(?:alternaterefscommand|gitproxy|fsmonitorhookversion)|credential\..*|gpg\..*\.program"
    r"|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|url\..*|trailer\..*\.(?:command|cmd)|interactive\.difffilter"
    r"|sequence\.editor|pager\..*|alias\..*|(?:diff|merge)tool\..*|uploadpack\..*|receivepack\..*|web\.browser",
    re.IGNORECASE | re.DOTALL,
)


# An empty diff driver would make git fail instead of showing the plain diff: these options take it out of the way.
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")
# git looks into a repository inside the work tree by a second git, which reads the settings of that repository and runs
# its filters. A setting does not suffice: a file .gitmodules would win over it.
_NOT_INSIDE = "--ignore-submodules=all"
_SAFE_OPTIONS = {
    **dict.fromkeys(("log", "show", "diff-tree", "format-patch"), _PLAIN_DIFF),
    **dict.fromkeys(("diff", "diff-index", "diff-files"), (*_PLAIN_DIFF, _NOT_INSIDE)),
    "status": (_NOT_INSIDE,),
    "blame": ("--no-textconv",),
}


class GitRefused(Forbidden):
    """This repository is not read with git; the message names the reason."""


class Git:
    """Runs git in one repository. `Git.find` decides whether it may."""

    def __init__(self, work_tree: Path, git_dir: Path) -> None:
        self.work_tree = work_tree
        self.git_dir = git_dir
        self._overrides: dict[str, str] | None = None
        self._configured: dict[str, str] | None = None

    @classmethod
    def find(cls, work_tree: Path) -> Git | None:
        """The repository whose work tree this folder is; None: it is none. Raises GitRefused, naming why."""
        entry = work_tree / ".git"
        if entry.is_symlink():
            raise GitRefused(f"{entry} is a link")
        if entry.is_dir():
            git_dir = entry
        elif entry.is_file():
            git_dir = _linked_worktree(work_tree, entry)
        else:
            return None
        _refuse_foreign_owner(work_tree, git_dir)
        git = cls(work_tree.resolve(), git_dir.resolve())
        _refuse_elsewhere(git)
        return git

    def linked(self, work_tree: Path, git_dir: Path) -> Git:
        """A worktree of this repository whose records are known to be in `git_dir`: its `.git` file is not read."""
        found = Git(work_tree, git_dir)
        found._overrides, found._configured = self._overrides, self._configured
        return found

    def run(
        self,
        *arguments: str,
        timeout: float = TIMEOUT_S,
        most_output: int = MOST_OUTPUT,
        stdin: bytes = b"",
        fine: Sequence[int] = (0,),
        settings: Mapping[str, str] | None = None,
    ) -> bytes:
        """The output of `git arguments`; Unavailable when it fails, takes too long or says too much.

        `fine`: exit codes that are answers. `settings`: of this call, they win over the repository's."""
        if self._overrides is None:
            self._overrides = {key: "" for key in self.configured() if _NAMES_A_PROGRAM.fullmatch(key)}
        overrides = {**self._overrides, **_ALWAYS, **(settings or {})}
        return self._run(arguments, overrides, timeout, most_output, stdin, fine)

    def configured(self) -> dict[str, str]:
        """The repository's own configuration with its includes, read once; reading it runs nothing."""
        if self._configured is not None:
            return self._configured
        output = self._run(("config", "--list", "--null", "--includes"), {}, TIMEOUT_S, 1024 * 1024, b"")
        pairs = (entry.partition("\n") for entry in output.decode("utf-8", "replace").split("\0") if entry)
        self._configured = {key: value for key, _, value in pairs}
        return self._configured

    def _run(
        self,
        arguments: Sequence[str],
        overrides: dict[str, str],
        timeout: float,
        most: int,
        stdin: bytes,
        fine: Sequence[int] = (0,),
    ) -> bytes:
        settings = [part for key, value in overrides.items() for part in ("-c", f"{key}={value}")]
        verb, *rest = arguments
        command = ["git", *settings, verb, *_SAFE_OPTIONS.get(verb, ()), *rest]
        environment = {**_ENVIRONMENT, "GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.work_tree)}
        try:
            process = subprocess.Popen(  # noqa: S603 - a fixed program, arguments never pass a shell
                command,
                cwd=self.work_tree,
                env=environment,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            raise Unsupported("git is not installed", hint="Install git 2.30 or newer.") from None
        try:
            return _collected(process, arguments, timeout, most, stdin, fine)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def compared(before: bytes, after: bytes) -> bytes:
    """The unified diff of two texts as `git diff --no-index` makes it, from its first hunk on; empty where equal."""
    settings = [part for key, value in _ALWAYS.items() for part in ("-c", f"{key}={value}")]
    with tempfile.TemporaryDirectory(prefix="lithos-diff-") as folder:
        for name, data in (("a", before), ("b", after)):
            (Path(folder) / name).write_bytes(data)
        arguments = ("diff", *_PLAIN_DIFF, "--no-index", "--no-color", "--text", "--", "a", "b")
        environment = {**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": folder}
        try:
            command = ["git", *settings, *arguments]
            process = subprocess.Popen(  # noqa: S603 - a fixed program, arguments never pass a shell
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            raise Unsupported("git is not installed", hint="Install git 2.30 or newer.") from None
        try:
            output = _collected(process, arguments, TIMEOUT_S, MOST_OUTPUT, b"", fine=(0, 1))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
    start = output.find(b"\n@@ ")
    return output[start + 1 :] if start >= 0 else b""


def _collected(
    process: subprocess.Popen[bytes],
    arguments: Sequence[str],
    timeout: float,
    most: int,
    stdin: bytes,
    fine: Sequence[int] = (0,),
) -> bytes:
    """All output, read within the limits."""
    if stdin and process.stdin is not None:
        process.stdin.write(stdin)  # paths of one question: less than a pipe holds
        process.stdin.close()
        process.stdin = None
    assert process.stdout is not None and process.stderr is not None
    end = time.monotonic() + timeout
    output, complaint = bytearray(), bytearray()
    pipes = {process.stdout.fileno(): output, process.stderr.fileno(): complaint}
    while pipes:
        ready = readable(pipes, max(0.0, end - time.monotonic()))
        if not ready:
            raise Unavailable(f"git {arguments[0]} took more than {timeout:.0f} s")
        for number in ready:
            part = os.read(number, 1024 * 1024)
            pipes[number] += part
            if not part:
                del pipes[number]
            if len(output) > most:
                raise TooLarge(f"git {arguments[0]} answered with more than {most} bytes")
    process.wait()
    if process.returncode not in fine:
        said = complaint.decode("utf-8", "replace").strip().splitlines()
        raise Unavailable(
            f"git {arguments[0]} failed: {said[-1] if said else process.returncode}",
            hint="Run `git status` in that checkout: a file, a lock or a right is in git's way.",
        )
    return bytes(output)


def _linked_worktree(work_tree: Path, entry: Path) -> Path:
    """The folder that a `.git` file names, if that folder names this work tree in turn."""
    text = entry.read_bytes()[:4096].decode("utf-8", "replace").strip()
    if not text.startswith("gitdir:"):
        raise GitRefused(f"{entry} does not name a repository")
    git_dir = (work_tree / text.removeprefix("gitdir:").strip()).resolve()
    if git_dir.is_relative_to(work_tree.resolve()):
        return git_dir
    back = git_dir / "gitdir"
    if back.is_file():
        known = Path(back.read_text().strip()).resolve() == entry.resolve()
    else:  # of a submodule; a setting without a value names nothing
        named = Git(work_tree, git_dir).configured().get("core.worktree") if (git_dir / "config").is_file() else None
        known = bool(named) and (git_dir / str(named)).resolve() == work_tree.resolve()
    if not known:
        raise GitRefused(f"{entry} names the repository {git_dir}, which does not know this work tree")
    return git_dir


def _refuse_foreign_owner(work_tree: Path, git_dir: Path) -> None:
    for path in (work_tree, git_dir, git_dir / "config"):
        try:
            owner = path.stat().st_uid
        except FileNotFoundError:
            continue
        if owner != os.geteuid():
            raise GitRefused(f"{path} belongs to another user (uid {owner})")


def _refuse_elsewhere(git: Git) -> None:
    """A repository whose objects or files are elsewhere could make Lithos show what is outside the root."""
    common = git.git_dir / "commondir"
    objects = (git.git_dir / common.read_text().strip() if common.is_file() else git.git_dir) / "objects"
    alternates = objects / "info" / "alternates"
    if alternates.is_file():
        for line in alternates.read_text(errors="replace").splitlines():
            if line and not line.startswith("#") and not (objects / line).resolve().is_relative_to(git.work_tree):
                raise GitRefused("objects/info/alternates names objects outside the root")
    settings = git.configured()
    if any(key == "extensions.partialclone" or re.fullmatch(r"remote\..*\.promisor", key) for key in settings):
        raise GitRefused("this is a partial clone: git would fetch missing objects")
    elsewhere = settings.get("core.worktree")
    if elsewhere is not None and (git.git_dir / elsewhere).resolve() != git.work_tree:
        raise GitRefused(f"core.worktree is {elsewhere}, not the root")
