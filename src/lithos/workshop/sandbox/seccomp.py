"""The seccomp filter: system calls that no build, linter or test needs and that widen the kernel's attack surface.

A denied call fails with EPERM, so that a tool that tries one goes on. `clone3` fails with ENOSYS: its flags are behind
a pointer that a filter cannot read, and the C library then uses `clone`.
"""

from __future__ import annotations

import errno
import platform
import struct
from functools import cache

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _ABOVE, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in seccomp_data; the low half of an argument
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEW* of every namespace that `clone` can make
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the terminal of the host
_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink (name resolution asks it)

# name → (x86_64, aarch64); None: there is no such call
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
}
# Where no namespace separates them: shared memory and queues of other programs of the user, owners and attributes of
# files outside, which Landlock does not guard.
_DENIED_ALONE: dict[str, tuple[int | None, int | None]] = {
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "semget": (64, 190),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "chown": (92, None),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE, _CLONE3, _IOCTL, _SOCKET, _PRLIMIT = (56, 220), (435, 435), (16, 29), (41, 198), (302, 261)


@cache
def filter_program(*, alone: bool = False) -> bytes | None:
    """The BPF program for this machine as the kernel reads it; None: the machine is neither x86_64 nor aarch64.

    `alone`: there are no namespaces, so that other processes of the user are in reach."""
    known = _MACHINES.get(platform.machine())
    if known is None:
        return None
    column, architecture = known
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),  # a 32-bit program would pass numbers that mean other calls
        _step(_LOAD, _NUMBER),
    ]
    if column == 0:
        program += [_step(_ABOVE, 0x40000000, 0, 1), _refusal(errno.ENOSYS)]  # the x32 numbers
    for numbers in (*_DENIED.values(), *(_DENIED_ALONE.values() if alone else ())):
        if (number := numbers[column]) is not None:
            program += [_step(_EQUAL, number, 0, 1), _refusal(errno.EPERM)]
    program += [_step(_EQUAL, _CLONE3[column], 0, 1), _refusal(errno.ENOSYS)]
    program += _with_argument(_CLONE[column], _FIRST, [_step(_BITS, _NEW_NAMESPACE, 0, 1), _refusal(errno.EPERM)])
    own = [_step(_EQUAL, 0, 0, 1), _step(_RETURN, _ALLOW), _refusal(errno.EPERM)]  # limits of another process
    program += _with_argument(_PRLIMIT[column], _FIRST, own)
    typing = [each for code in _TERMINAL_INPUT for each in (_step(_EQUAL, code, 0, 1), _refusal(errno.EPERM))]
    program += _with_argument(_IOCTL[column], _SECOND, typing)
    families = [each for code in _FAMILIES for each in (_step(_EQUAL, code, 0, 1), _step(_RETURN, _ALLOW))]
    program += _with_argument(_SOCKET[column], _FIRST, [*families, _refusal(errno.EAFNOSUPPORT)])
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _with_argument(number: int, offset: int, checks: list[bytes]) -> list[bytes]:
    """The checks for one call, on one of its arguments; a call that passes them is allowed."""
    body = [_step(_LOAD, offset), *checks, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _refusal(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
