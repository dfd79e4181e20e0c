"""Landlock by ctypes: a process gives up every file and TCP port that it is not granted. Standard library only.

The launcher runs this file's functions in the child, before the command. What Landlock cannot take away: UDP, and unix
sockets that have a path.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from functools import cache

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_DROP_BOUND, _AMBIENT, _CLEAR_ALL, _CAPABILITY_VERSION = 24, 47, 4, 0x20080522
MOST_CAPABILITIES = 64
LEAST_ABI = 3  # the first that covers truncation
TCP_ABI, SCOPE_ABI, DEVICE_ABI = 4, 6, 5
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _DEVICE = 1 << 14, 1 << 15
_ALL_FILES = (1 << 15) - 1  # up to ABI 4
_MAKE_DEVICE = 1 << 6 | 1 << 11  # character, block: a device made in the worktree would be the machine's disk
READ = _EXECUTE | _READ_FILE | _READ_DIR
_FOR_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE
_PATH_BENEATH = 1


@cache
def landlock_abi() -> int:
    """The version that this kernel offers; 0: none."""
    found: int = _library().syscall(_CREATE, None, 0, 1)
    return max(found, 0)


def restrict(readable: Iterable[str], writable: Iterable[str], *, tcp: bool) -> None:
    """Give up the rest, for this process and all that it starts. OSError if the kernel refuses."""
    abi = landlock_abi()
    files = _ALL_FILES | (_DEVICE if abi >= DEVICE_ABI else 0)
    network = 0b11 if abi >= TCP_ABI and not tcp else 0  # bind, connect
    scoped = 0b11 if abi >= SCOPE_ABI else 0  # abstract unix sockets, signals
    values = (files, network, scoped)[: 1 if abi < TCP_ABI else 2 if abi < SCOPE_ABI else 3]
    attributes = struct.pack(f"={len(values)}Q", *values)
    ruleset = _checked(_library().syscall(_CREATE, attributes, len(attributes), 0))
    for path in readable:
        _allow(ruleset, path, READ)
    for path in writable:
        _allow(ruleset, path, files & ~_MAKE_DEVICE)
    forbid_new_privileges()
    _checked(_library().syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def forbid_new_privileges() -> None:
    _checked(_library().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def drop_capabilities() -> None:
    """A host that is root would pass them on: to make devices, to change the network, to pass by file modes."""
    library = _library()
    library.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for number in range(MOST_CAPABILITIES):
        library.prctl(_DROP_BOUND, number, 0, 0, 0)  # fails without CAP_SETPCAP: then there is none to keep
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _checked(library.capset(header, bytes(24)))


def load_filter(program: bytes) -> None:
    """The seccomp filter; `forbid_new_privileges` comes first."""
    steps = ctypes.create_string_buffer(program, len(program))
    prog = struct.pack("@HP", len(program) // 8, ctypes.addressof(steps))
    _checked(_library().prctl(_SECCOMP, _FILTER, ctypes.create_string_buffer(prog, len(prog)), 0, 0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FOR_A_FILE
        rule = struct.pack("=Qi", rights, descriptor)
        _checked(_library().syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
