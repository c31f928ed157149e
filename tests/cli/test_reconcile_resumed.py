"""A reconcile that somebody interrupts shows what it has, and says how to go on with the rest."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from commands import Answer, Cli
from cronledger.adapters.postgres.ledger import PostgresLedger
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.diff import Stages
from cronledger.flows import reconcile as flow
from cronledger.ports import Span
from ledgers import World, file_text

SPAN = ("--from", "2026-03-01", "--to", "2026-03-02")
INTERRUPTED = 130


@pytest.fixture
def reconcile(
    cli: Cli,
    database: str,
    session_for: Callable[..., Session],
    zones: PinnedZones,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Answer]:
    """The command over a day of two schedules, in slices of an hour."""
    lines = [f"{name}: cron: '*/5 * * * *', catchup: {{policy: all}}" for name in "ab"]
    World(session_for(database), zones).at("2026-03-01T00:00:01").load(*lines)
    file = tmp_path / "schedules.yaml"
    file.write_text(file_text(*lines))
    monkeypatch.setattr(flow, "DETAILED_KEYS", 12)
    return lambda *words: cli("reconcile", file, "--database", database, *SPAN, *words)


def interrupt(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Ctrl-C while the ledger is asked for the so-manieth time."""
    calls = iter(range(1, 1000))
    asked = PostgresLedger.stages

    def stages(ledger: PostgresLedger, spans: Sequence[Span]) -> Mapping[int, Mapping[int, Stages]]:
        if next(calls) == at:
            raise KeyboardInterrupt
        return asked(ledger, spans)

    monkeypatch.setattr(PostgresLedger, "stages", stages)


def keys(answer: Answer) -> list[tuple[str, str]]:
    return [(row["key"], row["class"]) for row in answer.json["occurrences"]]


@pytest.mark.parametrize("at", [2, 24, 25, 40])
def test_the_two_parts_are_the_whole(
    reconcile: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    whole = keys(reconcile("-o", "json"))
    assert len(whole) == 2 * 287
    with monkeypatch.context() as patched:
        interrupt(patched, at)
        first = reconcile("-o", "json")
    assert first.code == INTERRUPTED
    assert first.json["interrupted_after"] in first.err
    words = shlex.split(first.err.rpartition("the rest: ")[2])
    rest = reconcile(*words[words.index("--after") :], "-o", "json")
    assert rest.code == 1
    assert rest.json["interrupted_after"] is None
    assert keys(first) + keys(rest) == whole


def test_before_the_first_slice_there_is_nothing_to_show(
    reconcile: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, 1)
    answer = reconcile("-o", "json")
    assert (answer.code, answer.out) == (INTERRUPTED, "")


def test_a_key_that_is_none_is_refused(reconcile: Callable[..., Answer]) -> None:
    answer = reconcile("--after", "tomorrow")
    assert answer.code == 2
    assert "--after: expected a key such as" in answer.err
