"""Turn errors into what callers see: answers, exit codes, HTTP statuses. The one place that does."""

from __future__ import annotations

import errno
import logging
import secrets
import traceback
from typing import Any

from lithos.errors import (
    Ambiguous,
    Busy,
    ConfigInvalid,
    Conflict,
    Damaged,
    Forbidden,
    Internal,
    InvalidInput,
    LithosError,
    NotFound,
    ReadOnly,
    StorageFull,
    TooLarge,
    Unavailable,
    Unsupported,
)
from lithos.tools.answers.mentions import followable_error

_log = logging.getLogger("lithos")

# First match wins, so children stand before their parents. Exit code 1 is left to Python's own failures, 2 to usage.
_EXIT_CODES: tuple[tuple[type[LithosError], int], ...] = (
    (InvalidInput, 2),
    (NotFound, 3),
    (Ambiguous, 3),
    (Conflict, 4),
    (Forbidden, 5),
    (Unavailable, 6),
    (Damaged, 7),
    (ConfigInvalid, 8),
    (Unsupported, 9),
    (LithosError, 10),
)
_HTTP_STATUSES: tuple[tuple[type[LithosError], int], ...] = (
    (TooLarge, 413),
    (InvalidInput, 400),
    (NotFound, 404),
    (Ambiguous, 400),
    (Conflict, 409),
    (Forbidden, 403),
    (Busy, 429),
    (StorageFull, 507),
    (Unavailable, 503),
    (LithosError, 500),
)


def failure(error: LithosError) -> dict[str, Any]:
    return {"error": error.as_dict()}


def failure_on(error: LithosError, listed: frozenset[str], called: str) -> dict[str, Any]:
    """The same for a connection that lists these tools: its texts name only what can be followed."""
    return {"error": followable_error(error.as_dict(), listed, called)}


def exit_code(error: LithosError) -> int:
    return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))


def http_status(error: LithosError) -> int:
    return next(status for kind, status in _HTTP_STATUSES if isinstance(error, kind))


def as_lithos_error(error: Exception, doing: str) -> LithosError:
    """Our errors unchanged, a full disk by name; anything else is a bug, logged and not shown to the caller."""
    if isinstance(error, LithosError):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull("the disk is full", hint="Free some space, then call again; nothing was changed.")
    if isinstance(error, OSError) and error.errno == errno.EROFS:
        return ReadOnly("the disk is read-only", hint="Give it write access, then call again; nothing was changed.")
    reference = secrets.token_hex(4)
    # Where it happened, not what was said: an error's text may quote what is stored.
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed, reference %s: %s\n%s", doing, reference, type(error).__name__, places)
    return Internal(
        f"{doing} failed inside Lithos (reference {reference})",
        hint="The server's log has the details under this reference.",
        reference=reference,
    )
