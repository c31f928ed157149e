"""Who may do what: each role calls its functions and nothing else, and writes no table itself."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from commands import Cli
from cronledger.adapters.postgres.chunks import PostgresSplits
from cronledger.adapters.postgres.migrate import roles_script
from cronledger.core.chunks import Chunk, ChunkWork, FollowUp
from workbench import SessionFor, Workbench

ROLES = ("enqueue", "worker", "operator", "observer")
As = Callable[[str], str]
WHY = ("--actor", "mia", "--reason", "to see whether I may")


@pytest.fixture
def bench(any_database: str, session_for: SessionFor) -> Workbench:
    made = Workbench(any_database, session_for)
    made.session.script(roles_script())
    made.session.script(roles_script())  # it may be run again
    return made


@pytest.fixture
def dsn(bench: Workbench) -> As:
    """The connection string of somebody who has one of the roles, and nothing else."""
    return lambda role: psycopg.conninfo.make_conninfo(
        bench.dsn, options=f"-c role=cronledger_{role}"
    )


def test_a_role_may_call_its_own_functions_and_no_other(bench: Workbench) -> None:
    allowed = bench.rows("select 'cronledger_' || role as role, routine from cronledger.role_right")
    wanted = {(row["role"], row["routine"]) for row in allowed}
    # What an operator may see needs the clock.
    wanted |= {("cronledger_observer", "now"), ("cronledger_operator", "now")}
    found = bench.rows(
        "select r.rolname as role, p.proname as routine from pg_proc p, pg_roles r"
        " where p.pronamespace = 'cronledger'::regnamespace"
        " and r.rolname = any (%(roles)s) and has_function_privilege(r.oid, p.oid, 'execute')",
        roles=[f"cronledger_{role}" for role in ROLES],
    )
    assert {(row["role"], row["routine"]) for row in found} == wanted


def test_every_right_is_of_a_function_that_there_is(bench: Workbench) -> None:
    assert (
        bench.rows(
            "select r.routine from cronledger.role_right r where not exists (select from pg_proc p"
            " where p.proname = r.routine and p.pronamespace = 'cronledger'::regnamespace)"
        )
        == []
    )


def test_no_role_writes_a_table_itself(bench: Workbench) -> None:
    assert (
        bench.rows(
            "select r.rolname, c.relname from pg_class c, pg_roles r,"
            " unnest('{INSERT, UPDATE, DELETE, TRUNCATE}'::text[]) as what"
            " where c.relnamespace = 'cronledger'::regnamespace"
            " and c.relkind in ('r', 'p', 'v') and r.rolname = any (%(roles)s)"
            " and has_table_privilege(r.oid, c.oid, what)",
            roles=[f"cronledger_{role}" for role in ROLES],
        )
        == []
    )


def test_what_runs_as_the_owner_finds_names_where_the_owner_put_them(bench: Workbench) -> None:
    rows = bench.rows(
        "select p.proname, p.proconfig from pg_proc p"
        " where p.pronamespace = 'cronledger'::regnamespace and p.prosecdef"
    )
    assert len(rows) > 15
    path = "search_path=pg_catalog, pg_temp"
    assert [row["proname"] for row in rows if path not in (row["proconfig"] or ())] == []


def test_a_stranger_may_nothing(bench: Workbench) -> None:
    with psycopg.connect(bench.dsn) as connection:
        connection.execute("create role cl_stranger")
        connection.execute("set local role cl_stranger")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select * from cronledger.claim('{}', '{}', 1, 'w')")
        connection.rollback()


def test_q078_a_producer_enqueues_and_cannot_claim_pause_or_replay(
    bench: Workbench, dsn: As
) -> None:
    with psycopg.connect(dsn("enqueue"), autocommit=True) as producer:
        row = producer.execute(
            "select inserted from cronledger.enqueue_once('default', 'work', array['a'],"
            " array['{}']::jsonb[], array[null]::timestamptz[])"
        ).fetchone()
        assert row == (True,)
        for call in (
            "claim('{}', array['work'], 1, 'w')",
            "pause_queue('default', null, 'me', 'because I can')",
            "replay(1, null, 'me', 'because I can')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                producer.execute(f"select cronledger.{call}".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            producer.execute("select payload from cronledger.job")
    assert len(bench.claim()) == 1


def test_q078_a_worker_works_and_says_at_its_start_what_it_may_not(
    bench: Workbench, dsn: As, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend("tests/worker")
    (id_,) = bench.enqueue("exec", payload={"command": "true"})
    work = ("work", "--exec", "--until-idle", "--database")
    assert cli(*work, dsn("worker")).code == 0
    assert bench.states([id_]) == ["completed"]
    bench.session.script(
        "revoke execute on function cronledger.fail, cronledger.rescue from cronledger_worker"
    )
    refused = cli(*work, dsn("worker"))
    assert refused.code == 4
    assert "cronledger.fail(bigint,bigint" in refused.err
    assert "cronledger.rescue(integer)" in refused.err
    assert "claim" not in refused.err.replace("cronledger_worker", "")
    assert "see `cronledger export roles`" in refused.err


def test_an_operator_acts_and_an_observer_only_looks(bench: Workbench, dsn: As, cli: Cli) -> None:
    (id_,) = bench.enqueue()
    for role in ("operator", "observer"):
        base = ("--database", dsn(role))
        assert cli("jobs", "list", *base).code == 0
        assert cli("queue", "list", *base).code == 0
        assert cli("dead", "list", *base).code == 0
        assert cli("audit", "list", *base).code == 0
    refused = cli("jobs", "cancel", str(id_), *WHY, "--database", dsn("observer"))
    assert refused.code == 4
    assert "permission denied for function cancel" in refused.err
    assert cli("jobs", "cancel", str(id_), *WHY, "--database", dsn("operator")).code == 0
    (row,) = bench.rows("select actor, login from cronledger.audit")
    assert row["actor"] == "mia"
    assert row["login"]  # whom the database knows, whoever was named


def test_nobody_rewrites_the_audit(bench: Workbench) -> None:
    (id_,) = bench.enqueue()
    bench.rows("select cronledger.cancel(%(i)s, 'mia', 'not needed today')", i=id_)
    for change in (
        "update cronledger.audit set actor = 'nobody'",
        "delete from cronledger.audit",
        "truncate cronledger.audit",
    ):
        with (
            psycopg.connect(bench.dsn) as owner,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"),
        ):
            owner.execute(change.encode())


def test_a_worker_splits_and_an_operator_cancels_chunks(
    bench: Workbench, dsn: As, cli: Cli, session_for: SessionFor
) -> None:
    (id_,) = bench.enqueue("split")
    (lease,) = bench.claim(1, "a", "split")
    splits = PostgresSplits(session_for(dsn("worker")))
    splits.split(lease, ChunkWork("part"), [Chunk("a"), Chunk("b")])
    assert splits.split_so_far(lease).last is not None
    assert splits.seal(lease, FollowUp("report"))
    for role in ("operator", "observer"):
        assert "0 of 2 completed" in cli("jobs", "chunks", str(id_), "--database", dsn(role)).out
    cancel = ("jobs", "cancel-chunks", str(id_), "--apply", *WHY, "--database")
    for role in ("observer", "worker"):
        assert cli(*cancel, dsn(role)).code in {3, 4}
    assert cli(*cancel, dsn("operator")).out.startswith("2 cancelled\n")


def test_an_observer_sees_a_job_without_what_its_command_wrote(
    bench: Workbench, dsn: As, cli: Cli
) -> None:
    (id_,) = bench.enqueue("exec", payload={"command": "echo secret"})
    assert cli("work", "--exec", "--until-idle", "--database", bench.dsn).code == 0
    seen = cli("jobs", "show", str(id_), "--database", dsn("observer"))
    assert seen.code == 0
    assert "completed" in seen.out
    assert "secret" not in seen.out
    assert "secret" in cli("jobs", "show", str(id_), "--database", dsn("operator")).out
