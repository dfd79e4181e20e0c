"""`lithos db`: the database of the shared state; migrations, and the way to PostgreSQL and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, table, verb

if TYPE_CHECKING:
    from lithos.settings import LithosConfig


def join(root: typer.Typer) -> None:
    join_noun(root, "db", "The database of the shared state.", status=show_status, migrate=migrate, copy=copy)


@verb
def show_status(terminal: Terminal) -> None:
    """Show where the database is, and which migrations it has. Changes nothing."""
    from lithos.storage import coordination_migrations, database_status, dialect_at

    settings = terminal.settings
    terminal.tell(dict(database_status(dialect_at(_address(settings)), coordination_migrations())), _print_status)


@verb
def migrate(terminal: Terminal) -> None:
    """Bring the schema up to this version of Lithos; a start of the server does the same."""
    from lithos.storage import coordination_migrations, database_status, dialect_at, open_database, open_postgres

    settings = terminal.settings
    address = _address(settings)
    with _nobody_else(settings, address):
        if address.startswith("sqlite:"):
            open_database(Path(address.removeprefix("sqlite:")), coordination_migrations()).close()
        else:
            open_postgres(address, coordination_migrations()).close()
        terminal.tell(dict(database_status(dialect_at(address), coordination_migrations())), _print_status)


@verb
def copy(
    terminal: Terminal,
    source: Annotated[
        str | None, typer.Option("--from", help="sqlite:PATH or postgresql://…  [default: the data directory's]")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="sqlite:PATH or postgresql://…  [default: storage.database_url]")
    ] = None,
) -> None:
    """Copy the whole state into an empty database and compare every row. Broken off, it goes on where it was."""
    from lithos.errors import InvalidInput
    from lithos.storage import Transfer, coordination_migrations, dialect_at

    settings = terminal.settings
    come_from, go_to = source or _sqlite(settings), target or _address(settings)
    if come_from == go_to:
        raise InvalidInput("--from and --to are the same database", hint="Give --to, or set storage.database_url.")
    tell = None if terminal.as_json else lambda table, rows: print(f"  {table}: {rows:,} rows", file=sys.stderr)
    transfer = Transfer(
        dialect_at(come_from), dialect_at(go_to), coordination_migrations(), on_progress=tell, verify=_audit(settings)
    )
    with _nobody_else(settings, come_from, go_to):
        counts = transfer.run()
    terminal.tell({"rows": counts}, f"{sum(counts.values()):,} rows are there, each as it was.")


def _sqlite(settings: LithosConfig) -> str:
    return f"sqlite:{settings.storage.data_dir.expanduser().absolute() / '.lithos/coordination.db'}"


def _address(settings: LithosConfig) -> str:
    url = settings.storage.database_url
    return url.get_secret_value() if url is not None else _sqlite(settings)


def _audit(settings: LithosConfig) -> Any:
    """How this data directory verifies its part of the audit; None where it has no keys."""
    from lithos.core.clock import SystemClock
    from lithos.core.ids import RandomIds
    from lithos.storage import Events, Keyring, store_id

    state = settings.storage.data_dir.expanduser().absolute() / ".lithos"
    keys = Keyring(state / "keys")
    if not keys.versions():
        return None
    return Events(store_id(state), keys, clock=SystemClock(), ids=RandomIds()).verify


@contextmanager
def _nobody_else(settings: LithosConfig, *addresses: str) -> Iterator[None]:
    """Hold the lock of the data directory whose file is touched, so that no host writes meanwhile."""
    from lithos.errors import Busy
    from lithos.host.host_lock import HostLock

    if _sqlite(settings) not in addresses:
        yield
        return
    host_lock = HostLock(str(settings.storage.data_dir.expanduser()))
    host_lock.make_folder()
    lock = host_lock.try_lock()
    if lock is None:
        raise Busy(f"{host_lock.describe_holder()} is at work here", hint="Stop it first: lithos stop.")
    try:
        yield
    finally:
        os.close(lock)


def _print_status(found: dict[str, Any]) -> None:
    print(f"{found['dialect']}  {found['where']}")
    table(
        ("state", "migration"), [(state, name) for state in ("applied", "pending", "unknown") for name in found[state]]
    )
    if found["unknown"]:
        print("A newer Lithos has changed this database; this one refuses it.")
