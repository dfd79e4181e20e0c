"""What only a server can do to us: lost connections, wrong passwords, restarts, other roles, other hosts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from lithos.core.clock import SystemClock
from lithos.core.ids import RandomIds
from lithos.errors import ConfigInvalid, Forbidden, LithosError, NotFound, Unavailable, Unsupported
from lithos.settings import load_config
from lithos.storage import (
    Database,
    Effects,
    EventDraft,
    Events,
    Idempotency,
    Keyring,
    Migration,
    Moment,
    Outcome,
    Tx,
    coordination_migrations,
    open_postgres,
)
from tests.support.cut import Wire
from tests.support.one_batch import in_one_batch
from tests.support.postgres_server import Server, make_standby, remove
from tests.support.states import PostgresStates, execute, with_database
from tests.support.storage_bench import keyed
from tests.support.waiting import until

THINGS = (Migration(1, "things", "CREATE TABLE things (name {text} PRIMARY KEY, size {integer}) {strict};"),)
DEADLINE_S = 60


def add(name: str):
    return lambda tx: tx.run("INSERT INTO things (name, size) VALUES (?, ?)", name, 1)


def names(database: Database) -> list[str]:
    return [row["name"] for row in database.read(lambda tx: tx.all("SELECT name FROM things ORDER BY name"))]


def heard(database: Database, woken: list[str], whom: set[str]) -> None:
    """Notify until all of them listen."""

    def all_woken() -> bool:
        database.write(lambda tx: tx.notify("board"))
        return whom <= set(woken)

    until(all_woken, f"{whom} listen")


@pytest.fixture
def url(postgres: PostgresStates, tmp_path: Path) -> str:
    return postgres.fresh(tmp_path)


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    made = Wire(server.url)
    yield made
    made.close()


@pytest.fixture
def wired(wire: Wire, url: str) -> str:
    """The same schema, through a wire that can be cut."""
    return wire.url(options=url.rpartition("options=")[2])


def test_marks_in_quotes_and_percent_signs_are_left_alone(url: str) -> None:
    database = open_postgres(url, THINGS)
    database.write(lambda tx: tx.run("INSERT INTO things (name, size) VALUES ('50% of ?', ?)", 7))
    rows = database.read(lambda tx: tx.all("SELECT size % 4 AS n FROM things WHERE name LIKE '%of %' AND size = ?", 7))
    assert rows == [{"n": 3}]
    assert names(database) == ["50% of ?"]
    database.close()


def test_text_sorts_by_code_point_and_truth_is_a_number_as_on_sqlite(url: str) -> None:
    database = open_postgres(url, THINGS)
    for name in ("b", "Z", "ä", "a"):
        database.write(lambda tx, n=name: tx.run("INSERT INTO things (name, size) VALUES (?, ?)", n, True))
    assert names(database) == ["Z", "a", "b", "ä"]
    assert database.read(lambda tx: tx.one("SELECT sum(size)::bigint AS n FROM things")) == {"n": 4}
    database.close()


def test_the_servers_clock_judges_time(url: str, server: Server) -> None:
    database = open_postgres(url, THINGS)
    before = execute(server.url, "SELECT clock_timestamp()")[0][0]
    moment = database.write(lambda tx: tx.now())
    after = execute(server.url, "SELECT clock_timestamp()")[0][0]
    assert before <= moment.wall <= after
    assert (moment.steady, moment.era) == (moment.wall.timestamp(), "database")
    database.close()


def test_hosts_that_start_at_once_migrate_once(url: str) -> None:
    slow = Migration(2, "slow", "SELECT pg_sleep(0.2); CREATE TABLE more (x {text}) {strict};")
    opened: list[Database] = []
    starters = [threading.Thread(target=lambda: opened.append(open_postgres(url, (*THINGS, slow)))) for _ in range(5)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join(DEADLINE_S)
    assert len(opened) == 5
    assert opened[0].read(lambda tx: tx.all("SELECT number FROM migrations ORDER BY number")) == [
        {"number": 1},
        {"number": 2},
    ]
    for database in opened:
        database.close()


def test_a_database_from_the_future_is_refused_by_name(url: str) -> None:
    open_postgres(url, (*THINGS, Migration(9, "wings", "CREATE TABLE wings (x {text}) {strict};"))).close()
    with pytest.raises(Unsupported, match="0009_wings"):
        open_postgres(url, THINGS)


def test_a_notice_wakes_listeners_of_every_host(url: str) -> None:
    here, there = open_postgres(url, THINGS), open_postgres(url, THINGS)
    woken: list[str] = []
    here.listen("board", lambda: woken.append("here"))
    there.listen("board", lambda: woken.append("there"))
    there.listen("other", lambda: woken.append("other"))
    heard(here, woken, {"here", "there"})
    woken.clear()
    here.write(lambda tx: tx.notify("board"))
    until(lambda: {"here", "there"} <= set(woken), "both hosts hear it")
    assert "other" not in woken
    here.close()
    there.close()


def test_a_host_alone_wakes_its_own_listeners_and_notifies_no_one(url: str) -> None:
    """The server would send its own notices back to it, and wake a thread for each commit."""
    here = open_postgres(url, THINGS)
    woken: list[str] = []
    here.listen("board", lambda: woken.append("here"))
    with psycopg.connect(url, autocommit=True) as ear:
        ear.execute("LISTEN lithos")

        def notices() -> list[str]:
            here.write(lambda tx: tx.notify("board"))
            ear.pgconn.exec_(b"SELECT 1")
            found = []
            while notice := ear.pgconn.notifies():
                found.append(notice.extra.decode().partition(" ")[2])
            return found

        woken.clear()
        assert notices() == [] and "here" in woken
        there = open_postgres(url, THINGS)
        until(lambda: "board" in notices(), "the other host is there")
        there.close()
        assert notices() == []
        ear.execute("INSERT INTO listeners (writer, at) VALUES ('killed', now() - interval '61 seconds')")
        assert notices() == []
    here.close()


def test_listeners_are_woken_after_a_lost_connection_because_notices_may_be_missed(wire: Wire, wired: str) -> None:
    database = open_postgres(wired, THINGS)
    woken: list[str] = []
    database.listen("board", lambda: woken.append("here"))
    heard(database, woken, {"here"})
    woken.clear()
    wire.cut()  # nobody notifies from here on
    until(lambda: woken, "woken after the break")
    database.close()


def test_a_lock_holds_the_other_hosts_off_until_commit(url: str) -> None:
    here, there = open_postgres(url, THINGS), open_postgres(url, THINGS)
    order: list[str] = []
    inside, go_on = threading.Event(), threading.Event()

    def first(tx: Tx) -> None:
        tx.lock("board")
        tx.one("SELECT 1 AS one")  # a lock travels with the next statement
        inside.set()
        assert go_on.wait(DEADLINE_S)
        order.append("first")

    def second(tx: Tx) -> None:
        tx.lock("board")
        tx.one("SELECT 1 AS one")
        order.append("second")

    writers = [threading.Thread(target=here.write, args=(first,)), threading.Thread(target=there.write, args=(second,))]
    writers[0].start()
    assert inside.wait(DEADLINE_S)
    writers[1].start()
    until(lambda: _waiting_for_locks(there) == 1, "the second waits")
    go_on.set()
    for writer in writers:
        writer.join(DEADLINE_S)
    assert order == ["first", "second"]
    here.close()
    there.close()


def test_the_time_of_a_lock_is_read_after_it_was_waited_for(url: str, server: Server) -> None:
    here, there = open_postgres(url, THINGS), open_postgres(url, THINGS)
    inside, go_on = threading.Event(), threading.Event()
    moments: list[Moment] = []

    def first(tx: Tx) -> None:
        tx.lock_now("board")()
        inside.set()
        assert go_on.wait(DEADLINE_S)

    writers = [
        threading.Thread(target=here.write, args=(first,)),
        threading.Thread(target=there.write, args=(lambda tx: moments.append(tx.lock_now("board")()),)),
    ]
    writers[0].start()
    assert inside.wait(DEADLINE_S)
    writers[1].start()
    until(lambda: _waiting_for_locks(there) == 1, "the second waits")
    released = execute(server.url, "SELECT clock_timestamp()")[0][0]
    go_on.set()
    for writer in writers:
        writer.join(DEADLINE_S)
    assert moments[0].wall > released
    here.close()
    there.close()


def test_a_work_that_fails_before_or_after_its_first_statement_undoes_only_itself(url: str) -> None:
    database = open_postgres(url, THINGS)

    def fail_early(tx: Tx) -> None:
        tx.lock("board")
        raise NotFound("early")

    def fail_late(tx: Tx) -> None:
        add("half")(tx)
        tx.many("INSERT INTO things (name, size) VALUES (?, ?)", [("unsent", 1)])
        raise NotFound("late")

    results = in_one_batch(database, [fail_early, add("a"), fail_late, add("b"), add("a"), fail_early])
    assert [type(result).__name__ for result in results] == [
        "NotFound",
        "int",
        "NotFound",
        "int",
        "Internal",
        "NotFound",
    ]
    assert names(database) == ["a", "b"]
    database.close()


def test_a_failure_on_its_way_reaches_the_call_that_put_it(url: str) -> None:
    database = open_postgres(url, THINGS)
    database.write(add("a"))

    def put(name: str):
        return lambda tx: tx.put("INSERT INTO things (name, size) VALUES (?, ?)", name, 1)

    results = in_one_batch(database, [put("b"), put("a"), add("c"), put("d")])
    assert [type(result).__name__ for result in results] == ["NoneType", "Internal", "int", "NoneType"]
    assert names(database) == ["a", "b", "c", "d"]
    database.close()


def test_a_table_that_another_host_has_migrated_is_read_and_written_on(url: str) -> None:
    database = open_postgres(url, THINGS)

    def look(tx: Tx) -> object:
        return tx.one("SELECT * FROM things WHERE name = ?", "a")

    database.write(add("a"))
    assert database.read(look) == database.write(look) == {"name": "a", "size": 1}
    execute(url, "ALTER TABLE things ADD COLUMN colour text")
    assert database.read(look) == database.write(look) == {"name": "a", "size": 1, "colour": None}
    database.close()


def test_more_than_the_network_holds_at_once_travels_both_ways(url: str) -> None:
    database = open_postgres(url, THINGS)
    long = "x" * 20_000

    def work(tx: Tx) -> int:
        tx.many(
            "INSERT INTO things (name, size) VALUES (?, ?)", [(f"{number} {long}", number) for number in range(450)]
        )
        asked = [tx.ask("SELECT name FROM things WHERE size < ?", 20) for _ in range(40)]
        return sum(len(each.all()) for each in asked)

    assert database.write(work) == 800
    assert len(names(database)) == 450
    database.close()


def _waiting_for_locks(database: Database) -> int:
    row = database.read(
        lambda tx: tx.one("SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND locktype = 'advisory'")
    )
    return row["n"] if row else 0


class Counter:
    """A call whose work counts, through effects on one database."""

    def __init__(self, database: Database, folder: Path) -> None:
        clock = SystemClock()
        self.database = database
        self.events = Events("store-1", Keyring(folder / "keys"), clock=clock, ids=RandomIds())
        self.effects = Effects(database, self.events, Idempotency(clock), clock=clock)

    def count(self, key: str) -> dict[str, object]:
        return self.effects.commit(keyed(key), lambda tx: self._work(tx, key))

    def _work(self, tx: Tx, key: str) -> Outcome:
        tx.run("INSERT INTO meta (name, value) VALUES (?, 'once')", f"count {key}")
        return Outcome({"counted": key}, (EventDraft("counter", "add", key),))

    def counted(self) -> set[str]:
        rows = self.database.read(lambda tx: tx.all("SELECT name FROM meta WHERE name LIKE 'count %'"))
        return {row["name"].removeprefix("count ") for row in rows}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_lost_in_the_middle_of_a_commit_is_found_out_not_guessed(
    wire: Wire, postgres: PostgresStates, tmp_path: Path, when: str
) -> None:
    url = wire.url(options=postgres.url(tmp_path).rpartition("options=")[2])
    counter = Counter(open_postgres(url, coordination_migrations()), tmp_path)
    cuts: list[bytes] = []

    def first_commit(data: bytes) -> bool:
        if b"COMMIT" not in data or cuts:
            return False
        cuts.append(data)
        return True

    setattr(wire, f"cut_{when}_sending", first_commit)
    assert counter.count("k") == {"counted": "k"}
    assert cuts, "the wire was cut in the middle of the commit"
    assert counter.counted() == {"k"}
    assert counter.count("k") == {"counted": "k"}
    row = counter.database.read(lambda tx: tx.one("SELECT count(*) AS n FROM events"))
    assert row == {"n": 1}
    assert counter.database.read(counter.events.verify)["ok"]
    counter.database.close()


def test_an_unknown_outcome_is_a_retryable_error_and_the_key_answers_later(
    wire: Wire, postgres: PostgresStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithos.storage.database.postgres.LOOK_UP_S", 0.2)
    url = wire.url(options=postgres.url(tmp_path).rpartition("options=")[2])
    counter = Counter(open_postgres(url, coordination_migrations()), tmp_path)
    away = threading.Event()

    def commit_and_then_nothing(data: bytes) -> bool:
        if b"COMMIT" in data:
            away.set()
            return True
        return False

    wire.cut_after_sending = commit_and_then_nothing
    wire.cut_before_sending = lambda data: away.is_set()
    with pytest.raises(Unavailable) as refusal:
        counter.count("k")
    assert refusal.value.retryable
    wire.cut_after_sending = wire.cut_before_sending = lambda data: False
    away.clear()
    assert counter.count("k") == {"counted": "k"}
    assert counter.counted() == {"k"}
    counter.database.close()


def test_a_connection_lost_before_the_commit_is_made_again_unseen(wire: Wire, wired: str) -> None:
    database = open_postgres(wired, THINGS)
    database.write(add("a"))
    wire.cut()
    database.write(add("b"))
    wire.cut()
    assert names(database) == ["a", "b"]
    database.close()


def test_while_the_server_is_away_calls_get_a_retryable_error_and_then_all_goes_on(wire: Wire, wired: str) -> None:
    database = open_postgres(wired, THINGS)
    database.write(add("a"))
    wire.cut_before_sending = lambda data: True
    wire.cut()
    for attempt in (lambda: database.write(add("lost")), lambda: names(database)):
        with pytest.raises(Unavailable) as refusal:
            attempt()
        assert refusal.value.retryable
    wire.cut_before_sending = lambda data: False
    database.write(add("b"))
    assert names(database) == ["a", "b"]
    database.close()


def test_an_owner_reads_only_its_own_events_and_another_role_sees_nothing(
    server: Server, postgres: PostgresStates, tmp_path: Path
) -> None:
    url = postgres.url(tmp_path)
    schema = url.rpartition("%3D")[2]
    counter = Counter(open_postgres(url, coordination_migrations()), tmp_path)
    for user in ("alice", "carol"):
        draft = EventDraft("note", "update", f"of {user}")
        counter.database.write(lambda tx, u=user, d=draft: counter.events.append(tx, keyed(user=u), d))
    for role in ("alice", "bob"):
        execute(server.url, f"DROP ROLE IF EXISTS {role}")
        execute(server.url, f"CREATE ROLE {role} LOGIN")
        execute(server.url, f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        execute(server.url, f"GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.events TO {role}")
    as_role = {role: with_database(server.url, "postgres", user=role) for role in ("alice", "bob")}
    read = f"SELECT thing FROM {schema}.events"
    assert execute(as_role["alice"], read) == [("of alice",)]
    assert execute(as_role["bob"], read) == []
    assert execute(as_role["alice"], f"UPDATE {schema}.events SET thing = 'x' RETURNING id") == []
    assert execute(as_role["alice"], f"DELETE FROM {schema}.events RETURNING id") == []
    with pytest.raises(Exception, match="row-level security"):
        execute(as_role["alice"], f"INSERT INTO {schema}.events SELECT * FROM {schema}.events")
    with pytest.raises(Exception, match="permission denied"):
        execute(as_role["alice"], f"SELECT * FROM {schema}.event_chain")
    assert len(counter.database.read(lambda tx: tx.all("SELECT id FROM events"))) == 2
    counter.database.close()
    for role in ("alice", "bob"):
        execute(server.url, f"DROP OWNED BY {role}; DROP ROLE {role}")


SECRET = "h7-very-secret"


def test_a_wrong_password_is_one_line_without_the_password(server: Server, wire: Wire, caplog) -> None:
    execute(server.url, "DROP ROLE IF EXISTS locked; CREATE ROLE locked LOGIN PASSWORD 'another'")
    hba = server.data / "pg_hba.conf"
    open_to_all = hba.read_text()
    hba.write_text("local all locked scram-sha-256\n" + open_to_all)
    _reload(server)
    try:
        refusal = _refused(with_database(server.url, "postgres", user="locked", password=SECRET))
        assert isinstance(refusal, ConfigInvalid)
        assert "refuses this user or password" in refusal.message
        assert SECRET not in caplog.text
    finally:
        hba.write_text(open_to_all)
        _reload(server)


def _reload(server: Server) -> None:
    """A server is only told to; a connection made after that shows when it has."""
    loaded = "SELECT pg_conf_load_time()"
    before = execute(server.url, loaded)
    execute(server.url, "SELECT pg_reload_conf()")
    until(lambda: execute(server.url, loaded) != before, "the settings are read again")


def test_a_missing_database_is_one_line(server: Server) -> None:
    refusal = _refused(with_database(server.url, "nowhere", user="postgres", password=SECRET))
    assert isinstance(refusal, ConfigInvalid)
    assert "the database does not exist" in refusal.message


def test_a_missing_role_is_one_line(server: Server) -> None:
    refusal = _refused(with_database(server.url, "postgres", user="nobody_at_all", password=SECRET))
    assert isinstance(refusal, ConfigInvalid)
    assert "the role does not exist" in refusal.message


def test_a_server_that_is_not_there_is_one_line(server: Server) -> None:
    refusal = _refused(f"postgresql://u:{SECRET}@127.0.0.1:1/x")
    assert isinstance(refusal, Unavailable)
    assert "cannot be reached" in refusal.message


def test_what_is_no_url_is_one_line() -> None:
    for url in (f"mysql://u:{SECRET}@h/x", f"postgresql://u:{SECRET}@[h/x", f"postgresql://u:{SECRET}@h/x?nonsense=1"):
        assert isinstance(_refused(url), ConfigInvalid)


def _refused(url: str) -> LithosError:
    with pytest.raises(LithosError) as refusal:
        open_postgres(url, THINGS)
    error: BaseException | None = refusal.value
    while error is not None:  # no link of the chain that a log would print holds it
        assert SECRET not in str(error) + repr(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert "\n" not in refusal.value.message
    assert refusal.value.hint
    return refusal.value


def test_a_server_that_is_too_old_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.storage.database.postgres.OLDEST_SERVER", 990000)
    with pytest.raises(Unsupported, match="is too old"):
        open_postgres(url, THINGS)


def test_a_read_only_replica_is_refused(url: str) -> None:
    """A standby says true; nothing else of it matters here, so the function of that name stands in for one."""
    schema = url.rpartition("%3D")[2]
    execute(url, f"CREATE FUNCTION {schema}.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
    standby = url.replace(f"search_path%3D{schema}", f"search_path%3D{schema},pg_catalog")
    with pytest.raises(ConfigInvalid, match="read-only replica"):
        open_postgres(standby, THINGS)


@pytest.mark.torture
def test_a_hot_standby_is_refused(server: Server) -> None:
    standby = make_standby(server)
    try:
        with pytest.raises(ConfigInvalid, match="read-only replica"):
            open_postgres(standby.url, THINGS)
    finally:
        remove(standby)


def test_a_server_that_only_reads_is_refused_at_start(url: str) -> None:
    open_postgres(url, THINGS).close()
    with pytest.raises(Forbidden, match="may not write"):
        open_postgres(f"{url}%20-cdefault_transaction_read_only%3Don", THINGS)


def test_the_password_is_in_no_log_and_not_in_the_settings_that_are_shown(
    server: Server, wire: Wire, tmp_path: Path, caplog, capsys
) -> None:
    from lithos.cli.root import run

    caplog.set_level(logging.DEBUG)
    url = wire.url().replace("postgres@", f"postgres:{quote(SECRET)}@")
    open_postgres(url, ()).close()
    (tmp_path / "config.yaml").write_text(f"storage:\n  database_url: {url}\n")
    loaded = load_config(config_file=tmp_path / "config.yaml")
    assert SECRET not in repr(loaded.config) + str(loaded.config.model_dump(mode="json"))
    for more in ([], ["--json"]):
        assert run(["config", "show", "--config", str(tmp_path / "config.yaml"), *more]) == 0
    shown = capsys.readouterr()
    assert "storage.database_url" in shown.out
    assert SECRET not in shown.out + shown.err + caplog.text


def test_without_the_driver_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "lithos.storage.database.postgres", None)
    with pytest.raises(ConfigInvalid) as refusal:
        open_postgres("postgresql://x/y", THINGS)
    assert "lithos-memory[postgres]" in refusal.value.hint


def test_sqlite_alone_imports_no_trace_of_postgresql() -> None:
    import subprocess
    import sys

    code = "import lithos.app, sys; print([name for name in sys.modules if 'psycopg' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).stdout == b"[]\n"
