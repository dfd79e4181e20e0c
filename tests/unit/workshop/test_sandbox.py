"""The sandbox: limits, output, and attempts to get out. On bubblewrap all fail; on Landlock alone only the documented
gaps pass, each shown here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lithos.errors import Conflict, Forbidden, InvalidInput, NotFound
from lithos.workshop import runs as runs_module
from lithos.workshop.commands import shown
from lithos.workshop.runs import Runner, checked_argv
from lithos.workshop.sandbox import Command, Sandbox, bubblewrap
from lithos.workshop.sandbox import sandbox as sandbox_module
from lithos.workshop.sandbox.output import Output
from lithos.workshop.values import BASE_SUFFIX, MB, Worktree
from tests.support.attacks import BOMB, PYTHON
from tests.support.sandboxed import LIMITS, python, run
from tests.support.waiting import until
from tests.support.workbench import git, is_running, make_project

pytestmark = pytest.mark.skipif(not Path(PYTHON).exists(), reason="the attacks need a Python of the system")


def test_a_command_writes_to_the_worktree_and_says_how_it_was_confined(place: Worktree, wall: str) -> None:
    done = python(place, "open('made.txt', 'w').write('x'); print('out'); import sys; print('err', file=sys.stderr)")
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"out\n", b"err\n")
    assert (place.path / "made.txt").read_text() == "x"
    assert done.confined and done.wall == wall
    assert done.network == ("blocked" if wall == "bubblewrap" else "tcp blocked")
    assert run(place, "git", "log", "--oneline").exit_code == 0
    assert run(place, "sh", "-c", "exit 3").exit_code == 3


CONNECT = "import socket; s = socket.socket(1); s.connect({}); print('canary-key')"
CALL = "import ctypes; print('canary-key' if ctypes.CDLL(None).{} == 0 else '')"
ESCAPES = {
    "read a key": "print(open('{outside}/secrets/key').read())",
    "list the folder beside": "import os; print('canary-key', os.listdir('{outside}/secrets'))",
    "a link to a key": "import os; os.symlink('{outside}/secrets/key', 'l1'); print(open('l1').read())",
    "the root of this process": "print(open('/proc/self/root{outside}/secrets/key').read())",
    "the root of the first process": "print(open('/proc/1/root{outside}/secrets/key').read())",
    "the cwd of the first process": "print(open('/proc/1/cwd{outside}/secrets/key').read())",
    "the environment of another process": "print(open('/proc/{pid}/environ').read() + 'canary-key')",
    "memory of another process": "print(open('/proc/{pid}/mem').read(1), 'canary-key')",
    "the environment": "import os; print(os.environ['LITHOS_TEST_KEY'])",
    "the main checkout": "print(open('{main}/a.py').read(), 'canary-key')",
    "write the main repository": "open('{main}/.git/config', 'a').write('x'); print('canary-key')",
    "write a hook": "open('{main}/.git/hooks/post-checkout', 'w').write('x'); print('canary-key')",
    "write outside": "open('{outside}/made', 'w')",  # a folder of that name may be there: the host looks at its own
    "write a system folder": "open('/usr/made', 'w'); print('canary-key')",
    "a host key": "print(open('/etc/shadow').read(), 'canary-key')",
    "a new mount": CALL.format("mount(b'/', b'/tmp', b'', 4096, 0)"),
    "a new namespace": CALL.format("unshare(0x10000000)"),
    "trace another process": CALL.format("ptrace(16, {pid}, 0, 0)"),
    "kill another process": "import os; os.kill({pid}, 0); print('canary-key')",
    "a kernel setting": "open('/proc/sys/kernel/core_pattern', 'r+'); print('canary-key')",
    "a key of the keyboard": "open('/proc/sysrq-trigger', 'r+'); print('canary-key')",
    "connect by TCP": "import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('canary-key')",
    "an abstract unix socket": CONNECT.format("'\\0{abstract}'"),
    "a docker socket": CONNECT.format("'/var/run/docker.sock'"),
    "an ssh agent": CONNECT.format("__import__('os').environ['SSH_AUTH_SOCK']"),
    "a device in the worktree": "import os; os.mknod('made', 0o60600, {device}); print('canary-key')",
    "the rights of root": "import os; os.setresuid(12345, 12345, 12345); print('canary-key')",
    "limits of another process": "import resource as r; r.prlimit({pid}, 7, (100, 100)); print('canary-key')",
    "shared memory of another program": (
        "import ctypes; print('canary-key' if ctypes.CDLL(None).shmget({shared}, 16, 0) >= 0 else '')"
    ),
    "the owner of a file": "import os; os.chown('{outside}/secrets/mode', os.getuid(), -1); print('canary-key')",
    "an attribute of a file": "import os; os.setxattr('{outside}/secrets/mode', 'user.x', b'x'); print('canary-key')",
    "a vsock": "import socket; socket.socket(40, 1); print('canary-key')",
}
GAPS = {  # of Landlock alone
    "a unix socket of the host": CONNECT.format("'{outside}/host.sock'"),
    "the mode of a file": "import os; os.chmod('{outside}/secrets/mode', 0o640); print('canary-key')",
    "the time of a file": "import os; os.utime('{outside}/secrets/mode', (0, 0)); print('canary-key')",
    "the size of a file": "import os; os.stat('{outside}/secrets/mode'); print('canary-key')",
    "send by UDP": "import socket; s = socket.socket(2, 2); s.sendto(b'x', ('127.0.0.1', {udp})); print('canary-key')",
}
TRY_ALL = """
for number in range({}):
    print('#', number)
    try: globals()['t%d' % number]()
    except Exception as e: print(type(e).__name__)
"""


def test_no_attempt_to_get_out_succeeds(
    place: Worktree, host: dict[str, object], wall: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITHOS_TEST_KEY", "canary-key")
    tries = "\n".join(f"def t{number}():\n    {code.format(**host)}" for number, code in enumerate(ESCAPES.values()))
    code = f"{tries}\n{TRY_ALL.format(len(ESCAPES))}"
    done = python(place, code)
    assert done.exit_code == 0, done.stderr.decode()
    answers = done.stdout.decode().split("# ")[1:]
    assert len(answers) == len(ESCAPES)
    assert [name for name, said in zip(ESCAPES, answers, strict=True) if "canary-key" in said] == []
    assert not (place.path.parent.parent / "made").exists()
    for left in ("made", "l1"):
        (place.path / left).unlink(missing_ok=True)


def test_an_attempt_succeeds_where_there_is_no_wall(
    place: Worktree, host: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacks can succeed: without a wall they do."""
    monkeypatch.setattr(bubblewrap, "bubblewrap_works", lambda: False)
    monkeypatch.setattr(sandbox_module, "landlock_abi", lambda: 0)
    sandbox = Sandbox(place.path.parent / ".scratch", LIMITS, unconfined=True)
    for name in ("read a key", "connect by TCP", "the main checkout"):
        code = ESCAPES[name].format(**host)
        done = sandbox.run(place, Command([PYTHON, "-c", code], place.path, 60))
        assert b"canary-key" in done.stdout, name
        assert not done.confined and done.network == "open"
    with pytest.raises(Forbidden, match="no sandbox"):
        run(place, "true")


@pytest.mark.parametrize("gap", GAPS)
def test_the_documented_gaps_are_gaps_of_landlock_alone(
    place: Worktree, host: dict[str, object], wall: str, gap: str
) -> None:
    done = python(place, GAPS[gap].format(**host))
    said = b"canary-key" in done.stdout
    if gap == "send by UDP" and wall == "bubblewrap":
        udp = host["udp_socket"]
        assert isinstance(udp, socket.socket)
        udp.settimeout(0.2)
        with pytest.raises(TimeoutError):
            udp.recv(10)
    else:
        assert said == (wall == "landlock"), done.stderr


def test_network_is_there_when_it_is_allowed(place: Worktree, host: dict[str, object], wall: str) -> None:
    done = python(place, ESCAPES["connect by TCP"].format(**host), network=True)
    assert b"canary-key" in done.stdout, done.stderr
    assert done.network == "open"


def test_a_run_cannot_replace_the_git_file_for_the_next_git(place: Worktree, wall: str) -> None:
    evil = "import os\nos.unlink('.git'); os.mkdir('.git')\n"
    python(place, evil + "open('.git/config', 'w').write('[core]\\nfsmonitor = touch /tmp/x')")
    python(place, "import os; os.rename('.git', 'x.git')")
    assert (place.path / ".git").is_file()
    assert (place.path / ".git").read_text() == f"gitdir: {place.git_dir}\n"
    (place.path / "x.git").unlink(missing_ok=True)


LIMITED = {
    "timeout": ("import time; time.sleep(60)", {"seconds": 0.5}),
    "memory": ("b = [bytearray(b'x') * 10**7 for _ in range(80)]\nimport time; time.sleep(60)", {}),
    "processes": (BOMB, {}),
    "disk": ("import time\nfor n in range(8):\n    open(f'big{n}', 'wb').write(bytes(2 * 10**7))\ntime.sleep(60)", {}),
}


@pytest.mark.parametrize("limit", LIMITED)
def test_a_limit_ends_the_whole_run(place: Worktree, wall: str, limit: str) -> None:
    code, more = LIMITED[limit]
    done = python(place, f"import os\n{code}", **more)
    assert (done.exit_code, done.killed_by) == (None, limit)
    assert done.timed_out == (limit == "timeout")
    for big in place.path.glob("big*"):
        big.unlink()


def test_memory_that_forks_share_counts_once(place: Worktree, wall: str) -> None:
    """Five processes hold the same 100 MB; the limit is 300 MB. Pages are counted until the last of them ended."""
    code = (
        "import os, time\nblock = bytearray(b'x') * 10**8\n"
        "for _ in range(4):\n    if os.fork() == 0: time.sleep(1); os._exit(0)\n"
        "for _ in range(4): os.wait()\nprint('held')"
    )
    done = python(place, code)
    assert (done.exit_code, done.killed_by, done.stdout) == (0, None, b"held\n")


def megabytes() -> int:
    """10 GB where TORTURE is set; a quarter of one shows the same in the suite."""
    return 10_240 if os.environ.get("TORTURE") else 256


def test_endless_output_keeps_head_and_tail(place: Worktree, wall: str) -> None:
    code = "import os\nos.write(1, b'HEAD')\nfor _ in range(%d): os.write(1, bytes(1 << 20))\nos.write(1, b'TAIL')"
    done = python(place, code % megabytes(), seconds=600)
    assert done.exit_code == 0 and done.truncated
    assert done.stdout.startswith(b"HEAD") and done.stdout.endswith(b"TAIL")
    assert len(done.stdout) < MB + 100 and b"bytes left out" in done.stdout


def test_binary_output_is_no_larger_as_an_answer_than_as_text(place: Worktree) -> None:
    answer = shown(python(place, "import os\nos.write(1, b'a\\tb\\r\\n\\0\\x1b[31m\\x7f\\xff')"))
    assert answer["stdout"] == "a\tb\r\n\ufffd\ufffd[31m\ufffd\ufffd"


def test_forks_that_outlive_their_parent_die_with_the_run(place: Worktree, wall: str) -> None:
    mark = f"lithos-orphan-{os.getpid()}-{wall}"
    code = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execv('{PYTHON}', ['{PYTHON}', '-c', 'import time; time.sleep(600)', '{mark}'])\n    os._exit(0)\n"
        "time.sleep(0.3)"
    )
    assert python(place, code).exit_code == 0
    until(lambda: not is_running(mark))


def test_a_stopped_run_ends_at_once(place: Worktree, wall: str) -> None:
    stop = threading.Event()
    sandbox = Sandbox(place.path.parent / ".scratch", LIMITS)
    threading.Timer(0.3, stop.set).start()
    done = sandbox.run(place, Command(["sleep", "600"], place.path, 600, stop=stop))
    assert done.killed_by == "stopped" and done.seconds < 60


def test_a_run_dies_with_its_host(place: Worktree, wall: str) -> None:
    mark = f"lithos-host-{os.getpid()}-{wall}"
    code = f"""
import os, sys, threading
from pathlib import Path
from lithos.workshop.sandbox import bubblewrap, Sandbox, Command
from lithos.workshop.values import RunLimits, Worktree
if {wall!r} == "landlock": bubblewrap.bubblewrap_works = lambda: False
place = Worktree("wt", "s", "project", Path({str(place.path)!r}), "work", "main", "x", Path({str(place.main)!r}))
command = Command([{PYTHON!r}, "-c", "import time; print(1, flush=True); time.sleep(600)", {mark!r}], place.path, 600)
threading.Thread(target=Sandbox(place.path.parent / ".scratch", RunLimits()).run, args=(place, command)).start()
sys.stdin.read(1)
os.kill(os.getpid(), 9)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    until(lambda: is_running(mark))
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    until(lambda: not is_running(mark))


def test_dependencies_of_the_main_checkout_are_shown_and_cannot_be_changed(place: Worktree) -> None:
    if not bubblewrap.bubblewrap_works():
        pytest.skip("mounts need user namespaces")
    folder = place.main / ".venv" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tool").write_text("#!/bin/sh\necho from the venv\n")
    (folder / "tool").chmod(0o755)
    assert run(place, "tool").stdout == b"from the venv\n"
    done = run(place, "sh", "-c", "echo x > .venv/bin/tool; rm -rf .venv/bin")
    assert done.exit_code != 0 and (folder / "tool").read_text().startswith("#!")
    shutil.rmtree(place.main / ".venv")


def test_programs_of_toolchains_are_found_wherever_they_are_installed(
    place: Worktree, wall: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One beneath `bin`, one in a folder of the host's own PATH; tmp_path may be where a run has its own mounts."""
    for name, folder in (("planted-one", "sdk/bin"), ("planted-two", "sdk/versions/2")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/sdk/versions/2:{tmp_path}/other:{os.environ['PATH']}")
    (tmp_path / "other").mkdir()
    sandbox = Sandbox(place.path.parent / ".scratch", LIMITS, toolchains=(tmp_path / "sdk",))
    for name in ("planted-one", "planted-two"):
        assert sandbox.run(place, Command([name], place.path, 60)).stdout == f"{name}\n".encode()
    shown = sandbox.run(place, Command(["sh", "-c", "echo $PATH"], place.path, 60)).stdout.decode().split(":")
    assert f"{tmp_path}/other" not in shown and "/usr/bin" in shown


def test_the_base_of_a_worktree_uses_the_caches_of_the_worktree(place: Worktree) -> None:
    run(place, "sh", "-c", "echo compiled > $HOME/cache")
    base = replace(place, id=f"{place.id}{BASE_SUFFIX}")
    assert run(base, "sh", "-c", "cat $HOME/cache").stdout == b"compiled\n"


def test_a_program_that_is_not_installed_and_lines_for_a_shell_are_refused(place: Worktree) -> None:
    with pytest.raises(NotFound) as missing:
        run(place, "no-such-tool-at-all")
    assert missing.value.details["reason"] == "not_installed"
    for line in (["ls -la | wc"], [""], ["a\0b"], ["x"] * 2000):
        with pytest.raises(InvalidInput) as refused:
            checked_argv(line)
        assert refused.value.hint
    with pytest.raises(InvalidInput, match="cwd"):
        Runner(Sandbox(place.path.parent / ".scratch", LIMITS), LIMITS).run(place, ["true"], cwd="../..")
    with pytest.raises(Forbidden, match="network"):
        Runner(Sandbox(place.path.parent / ".scratch", LIMITS), LIMITS).run(place, ["true"], network=True)


@pytest.mark.usefixtures("wall")
def test_a_script_whose_interpreter_is_gone_is_no_fault_of_the_sandbox(place: Worktree) -> None:
    script = place.path / "moved"
    script.write_text("#!/nowhere/.venv/bin/python\n")
    script.chmod(0o755)
    with pytest.raises(NotFound, match="moved' cannot start: its interpreter is missing") as refused:
        run(place, "./moved")
    assert refused.value.details["reason"] == "not_installed"
    script.unlink()


def test_the_hint_for_a_shell_line_is_the_vector_that_means_it() -> None:
    meant = {
        "pytest -k 'a b'": '["pytest","-k","a b"]',
        "pytest -q | tail": '["sh","-c","pytest -q | tail"]',
        "echo it's": '["echo","it\'s"]',
    }
    for line, vector in meant.items():
        with pytest.raises(InvalidInput) as refused:
            checked_argv([line])
        assert vector in (refused.value.hint or "")


def test_a_run_that_is_stopped_while_it_waits_never_begins(place: Worktree) -> None:
    stop = threading.Event()
    stop.set()
    reset = runs_module._stop.set(stop)
    try:
        with pytest.raises(Conflict, match="before it began"):
            Runner(Sandbox(place.path.parent / ".scratch", LIMITS), LIMITS).run(place, ["touch", "begun"])
    finally:
        runs_module._stop.reset(reset)
    assert not (place.path / "begun").exists()


CREDENTIALS = """
[remote "o"]
	url = https://ann:canary-key@example.invalid/x.git
[http "https://example.invalid/"]
	extraHeader = AUTHORIZATION: \\
canary-key
[sendemail] smtpPass = canary-key
[url "https://canary-key@example.invalid/"]
	insteadOf = x:
"""


def test_credentials_in_the_repositorys_configuration_are_not_shown_to_a_run(place: Worktree, wall: str) -> None:
    config = place.main / ".git" / "config"
    before = config.read_text()
    config.write_text(before + CREDENTIALS)
    try:
        if wall == "landlock":
            with pytest.raises(Forbidden, match="credential"):
                run(place, "true")
            return
        done = run(place, "sh", "-c", f"cat {config}; git config --list; git log -1 --oneline")
        assert done.exit_code == 0 and b"https://example.invalid/x.git" in done.stdout
        assert b"canary-key" not in done.stdout + done.stderr
        assert config.read_text() == before + CREDENTIALS
        assert run(place, "sh", "-c", f"echo x >> {config}").exit_code != 0
    finally:
        config.write_text(before)


def test_output_keeps_both_ends_in_pieces_of_every_size() -> None:
    for size in (1, 7, 64, 4096):
        output = Output(100)
        data = bytes(range(256)) * 40
        for start in range(0, len(data), size):
            output.add(data[start : start + size])
        kept = output.bytes()
        assert kept.startswith(data[:50]) and kept.endswith(data[-50:]) and output.truncated
    small = Output(100)
    small.add(b"x" * 100)
    assert small.bytes() == b"x" * 100 and not small.truncated


def test_the_walls_hold_for_a_user_without_rights(
    tmp_path_factory: pytest.TempPathFactory, host: dict[str, object], wall: str
) -> None:
    """The suite may run as root, where some limits do not count: here a process gives its rights up first."""
    if os.geteuid() != 0:
        pytest.skip("the whole suite runs without rights already")
    with tempfile.TemporaryDirectory(prefix="lithos-unprivileged-", dir="/var/tmp") as name:
        folder, nobody = Path(name), 65534
        main = make_project(folder / "project", {"a.py": "a = 1\n"})
        (folder / "key").write_text("canary-key")
        git(main, "worktree", "add", "--quiet", "-b", "work", str(folder / "worktrees/wt"))
        for path in (folder, *folder.rglob("*")):
            os.chown(path, nobody, nobody, follow_symlinks=False)
        command = [sys.executable, "-m", "tests.support.unprivileged", name, str(nobody), wall, str(host["port"])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
        if "Permission denied: '/" in done.stderr and "launcher" in done.stderr:
            pytest.skip("the other user cannot read this checkout")
        assert done.stdout.strip() == f"as {nobody}: {wall}", done.stderr


def test_a_malicious_conftest_reads_no_key(place: Worktree, wall: str, host: dict[str, object]) -> None:
    """As a test runner would: code of the worktree runs at import time, and tries what it can reach."""
    keys = (f"{host['outside']}/secrets/key", str(Path.home() / ".ssh/id_rsa"), "/proc/1/environ")
    body = "\n".join(f"try: print(open({each!r}).read(), 'canary-key')\nexcept OSError: pass" for each in keys)
    (place.path / "conftest.py").write_text(f"{body}\nimport os\nprint(dict(os.environ))\n")
    done = python(place, "import conftest")
    (place.path / "conftest.py").unlink()
    assert done.exit_code == 0, done.stderr
    if wall == "bubblewrap":  # the first process there is the sandbox's own, with our environment
        assert done.stdout.count(b"canary-key") <= 1 and b"secrets" not in done.stdout
    else:
        assert b"canary-key" not in done.stdout


def test_links_that_change_under_a_run_lead_nowhere(place: Worktree, wall: str, host: dict[str, object]) -> None:
    """A race: a link flips between a file of ours and a key while it is opened again and again."""
    code = f"""
import os, threading, time
open('ours', 'w').write('ours')
end = time.monotonic() + 1
def flip():
    while time.monotonic() < end:
        for target in ('ours', '{host["outside"]}/secrets/key'):
            os.symlink(target, 'next'); os.replace('next', 'racing')
threading.Thread(target=flip).start()
seen = set()
while time.monotonic() < end:
    try: seen.add(open('racing').read())
    except OSError: pass
print(sorted(seen))
"""
    done = python(place, code)
    assert done.stdout == b"['ours']\n", done.stderr
    for left in ("ours", "racing", "next"):
        (place.path / left).unlink(missing_ok=True)
