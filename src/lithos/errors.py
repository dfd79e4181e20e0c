"""Every error that Lithos raises on purpose, split by what the caller does next.

LithosError
├── InvalidInput        invalid_input     fix the arguments and call again
│   ├── TooLarge        too_large         send less
│   ├── UnknownTool     unknown_tool      call a tool that exists
│   └── SecretRefused   secret_refused    take the credential out
├── NotFound            not_found         name something that exists
├── Ambiguous           ambiguous         use the id of the one that is meant
├── Conflict            conflict          read again, then decide
│   ├── ClaimLost       claim_lost        stop: another agent may hold the work now
│   ├── CursorExpired   cursor_expired    read the lists again, then go on from `cursor`
│   ├── KeyReused       key_reused        use a new idempotency_key for other arguments
│   └── LedgerFork      ledger_fork       stop: the chain is not the one you knew
├── Forbidden           forbidden         ask the operator who set the limits
├── Unavailable         unavailable       try again (retryable)
│   ├── Busy            busy              try again after retry_after_ms
│   ├── HostRestarted   host_restarted    call again
│   ├── StorageFull     storage_full      free disk space, then call again
│   └── ReadOnly        read_only         give the disk write access, then call again
├── Damaged             damaged           a person must look: what is stored contradicts itself
├── ConfigInvalid       config_invalid    fix the settings; the start stops here
├── Unsupported         unsupported       this platform, file system or version cannot do it
└── Internal            internal          our bug: the log has the trace, the caller gets a reference
"""

from __future__ import annotations

from typing import Any, ClassVar


class LithosError(Exception):
    """`message` says what is wrong, `hint` what to do next; `details` are facts for programs."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    advice: ClassVar[str] = ""  # the hint of an error that is raised without one

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.advice
        self.details = details

    def as_dict(self) -> dict[str, Any]:
        """The `error` object of DESIGN §3.6; details ride along as extra fields."""
        fixed = {"code": self.code, "message": self.message, "hint": self.hint, "retryable": self.retryable}
        return {**self.details, **fixed}


class InvalidInput(LithosError):
    code = "invalid_input"
    advice = "Fix the arguments and call again."


class TooLarge(InvalidInput):
    code = "too_large"
    advice = "Send less."


class UnknownTool(InvalidInput):
    code = "unknown_tool"


class SecretRefused(InvalidInput):
    code = "secret_refused"


class NotFound(LithosError):
    code = "not_found"


class Ambiguous(LithosError):
    code = "ambiguous"
    advice = "Use the id of the one that you mean."


class Conflict(LithosError):
    code = "conflict"


class ClaimLost(Conflict):
    code = "claim_lost"


class CursorExpired(Conflict):
    code = "cursor_expired"


class KeyReused(Conflict):
    code = "key_reused"


class LedgerFork(Conflict):
    code = "ledger_fork"


class Forbidden(LithosError):
    code = "forbidden"


class Unavailable(LithosError):
    code = "unavailable"
    retryable = True


class Busy(Unavailable):
    code = "busy"


class HostRestarted(Unavailable):
    code = "host_restarted"


class StorageFull(Unavailable):
    code = "storage_full"


class ReadOnly(Unavailable):
    code = "read_only"


class Damaged(LithosError):
    code = "damaged"
    advice = "A person must look: what is stored contradicts itself."


class ConfigInvalid(LithosError):
    code = "config_invalid"
    advice = "Fix the settings and start again."


class Unsupported(LithosError):
    code = "unsupported"


class Internal(LithosError):
    code = "internal"


def all_errors() -> dict[str, type[LithosError]]:
    """Code → class, for the documentation page and its test."""
    found: dict[str, type[LithosError]] = {}
    pending: list[type[LithosError]] = [LithosError]
    while pending:
        for child in pending.pop().__subclasses__():
            found[child.code] = child
            pending.append(child)
    return found
