"""Set up a server before the first call: its default caller and its log."""

from __future__ import annotations

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from lithos.errors import ConfigInvalid
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

LARGEST_LOG = 10_000_000  # bytes; two more of that size are kept


def default_caller(config: LithosConfig) -> Caller:
    """The caller for clients that state no options."""
    toolsets = catalogue().check_toolsets(config.server.toolsets)
    return Caller(toolsets=toolsets, agent=config.server.agent, read_only=config.server.read_only)


def set_up_log(config: LithosConfig, target: logging.Handler | None = None) -> None:
    """Log to the file of the settings, else to `target`, else to stderr. Stdout belongs to the protocol."""
    target = _log_file(config) or target or logging.StreamHandler(sys.stderr)
    target.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    # The SDK's messages quote what clients sent: they are for developers only.
    foreign = "WARNING" if config.server.log_level == "debug" else "CRITICAL"
    for name, level in (("lithos", config.server.log_level.upper()), ("mcp", foreign), ("uvicorn", "ERROR")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [target]
        logger.setLevel(level)
        logger.propagate = False


class BoundedLog(RotatingFileHandler):
    """A log file of bounded size; the last two of that size are kept."""

    def __init__(self, path: str | Path, largest: int) -> None:
        super().__init__(path, maxBytes=largest, backupCount=2, encoding="utf-8")

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        """By the size of the file: the inherited check formats every line twice, which costs as much as writing it."""
        return self.stream is not None and os.fstat(self.stream.fileno()).st_size >= self.maxBytes


def _log_file(config: LithosConfig) -> logging.Handler | None:
    path = config.server.log_file
    if path is None:
        return None
    try:
        path.expanduser().parent.mkdir(parents=True, exist_ok=True)
        return BoundedLog(path.expanduser(), LARGEST_LOG)
    except OSError as error:
        raise ConfigInvalid(f"the log cannot be written: {error}", hint="Check server.log_file.") from None
