"""What a tick decides about each undecided key: the table of the policies, and an oracle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronledger.core.instants import from_epoch, to_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.core.plan import LeftOut, Plan, Reason, plan, reach
from cronledger.core.schedule import Catchup, CatchupPolicy, Order, Pause, Schedule
from ledgers import schedule_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_EPOCH = to_epoch(NOON)
MINUTELY = schedule_of("m: cron: '* * * * *'")


def minutely(
    policy: str, *, window: int = 3600, maximum: int = 100, order: str = "oldest"
) -> Schedule:
    """Every minute, 30 s of deadline, `window` in seconds."""
    catchup = Catchup(CatchupPolicy(policy), timedelta(seconds=window), maximum, Order(order))
    return replace(MINUTELY, catchup=catchup)


def ago(*minutes: int) -> list[int]:
    """Epochs so many minutes before noon, ascending."""
    return sorted(NOON_EPOCH - 60 * minute for minute in minutes)


def decide(schedule: Schedule, expected: list[int], **changes: object) -> Plan:
    settled = changes.get("settled", frozenset())
    decided_to = changes.get("decided_to", NOON - timedelta(days=9))
    now = changes.get("now", NOON)
    assert isinstance(settled, frozenset)
    assert isinstance(decided_to, datetime)
    assert isinstance(now, datetime)
    return plan(schedule, expected, settled, decided_to, now, schedule.deadline)


def reasons(made: Plan) -> list[tuple[Reason, int]]:
    return [(span.reason, span.count) for span in made.left_out]


@pytest.mark.parametrize(
    ("policy", "taken", "left"),
    [
        ("none", [0], [(Reason.POLICY_NONE, 4)]),
        ("latest", [0, 1], [(Reason.COALESCED, 3)]),
        ("earliest", [0, 4], [(Reason.COALESCED, 3)]),
        ("all", [0, 1, 2, 3, 4], []),
    ],
)
def test_each_policy_takes_its_share_of_the_late_keys(
    policy: str, taken: list[int], left: list[tuple[Reason, int]]
) -> None:
    made = decide(minutely(policy), ago(0, 1, 2, 3, 4))
    assert list(made.enqueue) == ago(*taken)
    assert reasons(made) == left


@pytest.mark.parametrize(("order", "taken"), [("oldest", [4, 3]), ("newest", [1, 2])])
def test_a_limit_takes_by_the_order_and_names_the_rest(order: str, taken: list[int]) -> None:
    made = decide(minutely("all", maximum=2, order=order), ago(1, 2, 3, 4))
    assert list(made.enqueue) == ago(*taken)
    assert reasons(made) == [(Reason.OVER_LIMIT, 2)]


def test_the_limit_counts_late_keys_only() -> None:
    made = decide(minutely("all", maximum=1), ago(0, 1, 2))
    assert list(made.enqueue) == ago(0, 2)


@pytest.mark.parametrize(
    ("lateness", "on_time"), [(29, True), (30, True), (30.001, False), (30.999, False), (31, False)]
)
def test_the_deadline_itself_is_still_on_time(lateness: float, on_time: bool) -> None:
    made = decide(minutely("none"), [NOON_EPOCH], now=NOON + timedelta(seconds=lateness))
    assert (list(made.enqueue) == [NOON_EPOCH]) == on_time


@pytest.mark.parametrize(("lateness", "inside"), [(3600, True), (3600.001, False), (3601, False)])
def test_the_window_reaches_back_to_its_first_instant(lateness: float, inside: bool) -> None:
    made = decide(minutely("all"), [NOON_EPOCH], now=NOON + timedelta(seconds=lateness))
    assert bool(made.enqueue) == inside
    assert reasons(made) == ([] if inside else [(Reason.OUTSIDE_WINDOW, 1)])


def test_a_deadline_longer_than_the_window_still_counts_as_on_time() -> None:
    patient = replace(minutely("none", window=60), deadline=timedelta(minutes=10))
    made = plan(patient, ago(1, 9, 11), frozenset(), NOON, NOON, patient.deadline)
    assert list(made.enqueue) == ago(1, 9)
    assert reasons(made) == [(Reason.OUTSIDE_WINDOW, 1)]
    assert reach(patient, NOON, NOON, patient.deadline).start == NOON - timedelta(minutes=10)


def test_a_pause_is_half_open() -> None:
    pause = Pause(from_epoch(ago(3)[0]), from_epoch(ago(1)[0]), "works")
    made = decide(replace(minutely("all"), pauses=(pause,)), ago(0, 1, 2, 3, 4))
    assert list(made.enqueue) == ago(0, 1, 4)
    assert made.left_out == (LeftOut(ago(3)[0], ago(2)[0] + 1, Reason.PAUSED, 2),)


def test_a_pause_without_an_end_suppresses_what_is_on_time_too() -> None:
    made = decide(replace(minutely("all"), pauses=(Pause(NOON, None, "works"),)), ago(0, 1))
    assert list(made.enqueue) == ago(1)
    assert reasons(made) == [(Reason.PAUSED, 1)]


def test_a_skipped_key_is_suppressed_and_takes_no_place_of_a_late_one() -> None:
    skipped = OccurrenceKey("m", from_epoch(ago(1)[0]))
    made = decide(replace(minutely("latest"), skip=frozenset({skipped})), ago(1, 2, 3))
    assert list(made.enqueue) == ago(2)
    assert reasons(made) == [(Reason.COALESCED, 1), (Reason.SKIPPED, 1)]


def test_under_none_a_key_behind_what_was_decided_stays_open() -> None:
    made = decide(minutely("none"), ago(2, 3, 4, 5), decided_to=from_epoch(ago(3)[0]))
    assert made.enqueue == ()
    assert made.left_out == (LeftOut(ago(3)[0], ago(2)[0] + 1, Reason.POLICY_NONE, 2),)


def test_a_range_never_spans_a_key_with_another_fate() -> None:
    made = decide(minutely("latest"), ago(1, 2, 3, 4, 5), settled=frozenset(ago(3)))
    assert made.left_out == (
        LeftOut(ago(5)[0], ago(4)[0] + 1, Reason.COALESCED, 2),
        LeftOut(ago(2)[0], ago(2)[0] + 1, Reason.COALESCED, 1),
    )


@pytest.mark.parametrize("policy", list(CatchupPolicy))
def test_nothing_expected_is_nothing_decided(policy: CatchupPolicy) -> None:
    assert decide(minutely(policy), []) == Plan((), ())


# --- an oracle from the words of the specification: a fate for each key, one key at a time ---


@dataclass(frozen=True)
class Question:
    schedule: Schedule
    expected: list[int]
    settled: frozenset[int]
    decided_to: datetime
    now: datetime
    deadline: timedelta


@st.composite
def questions(draw: st.DrawFn) -> Question:
    now = NOON + timedelta(milliseconds=draw(st.integers(0, 2000)))
    expected = draw(
        st.lists(st.integers(NOON_EPOCH - 400, to_epoch(now)), unique=True, max_size=30)
    )
    expected.sort()
    some = st.sets(st.sampled_from(expected)) if expected else st.just(set[int]())
    bounds = st.integers(NOON_EPOCH - 420, NOON_EPOCH + 20)
    pauses = tuple(
        Pause(from_epoch(min(a, b)), None if draw(st.booleans()) else from_epoch(max(a, b)), "x")
        for a, b in draw(st.lists(st.tuples(bounds, bounds), max_size=2))
    )
    catchup = Catchup(
        draw(st.sampled_from(CatchupPolicy)),
        timedelta(seconds=draw(st.integers(1, 400))),
        draw(st.integers(1, 6)),
        draw(st.sampled_from(Order)),
    )
    skip = frozenset(OccurrenceKey("m", from_epoch(e)) for e in draw(some))
    return Question(
        replace(MINUTELY, catchup=catchup, pauses=pauses, skip=skip),
        expected,
        frozenset(draw(some)),
        from_epoch(draw(bounds)),
        now,
        timedelta(seconds=draw(st.integers(0, 120))),
    )


def fates(question: Question) -> dict[int, str]:
    """Key to `enqueue`, `open` (left as it is) or the reason why it is left out."""
    schedule, catchup = question.schedule, question.schedule.catchup
    found: dict[int, str] = {}
    late: list[int] = []
    for epoch in question.expected:
        instant = from_epoch(epoch)
        lateness = question.now - instant
        if epoch in question.settled:
            continue
        if any(p.start <= instant < (p.end or datetime.max.replace(tzinfo=UTC))
               for p in schedule.pauses):  # fmt: skip
            found[epoch] = "paused"
        elif any(key.logical_time == instant for key in schedule.skip):
            found[epoch] = "skipped"
        elif lateness <= question.deadline:
            found[epoch] = "enqueue"
        elif lateness > catchup.window:
            found[epoch] = "outside_window"
        else:
            late.append(epoch)
    for epoch in late:
        found[epoch] = late_fate(question, late, epoch)
    return found


def late_fate(question: Question, late: list[int], epoch: int) -> str:
    """What catch-up makes of one of the `late` keys (ascending)."""
    catchup = question.schedule.catchup
    ranked = late if catchup.order == "oldest" else late[::-1]
    match catchup.policy:
        case CatchupPolicy.NONE:
            was_decided = from_epoch(epoch) < question.decided_to
            return "open" if was_decided else "policy_none"
        case CatchupPolicy.LATEST:
            return "enqueue" if epoch == max(late) else "coalesced"
        case CatchupPolicy.EARLIEST:
            return "enqueue" if epoch == min(late) else "coalesced"
        case CatchupPolicy.ALL:
            within = ranked.index(epoch) < catchup.maximum
            return "enqueue" if within else "over_limit"


def made_for(question: Question) -> Plan:
    return plan(
        question.schedule,
        question.expected,
        question.settled,
        question.decided_to,
        question.now,
        question.deadline,
    )


@settings(max_examples=600, deadline=None)
@given(questions())
def test_every_undecided_key_has_the_fate_that_the_words_give_it(question: Question) -> None:
    made, wanted = made_for(question), fates(question)
    assert list(made.enqueue) == [e for e in question.expected if wanted.get(e) == "enqueue"]
    left = {e: span.reason for span in made.left_out for e in question.expected
            if span.start <= e < span.end}  # fmt: skip
    assert left == {e: fate for e, fate in wanted.items() if fate not in {"enqueue", "open"}}


@settings(max_examples=300, deadline=None)
@given(questions())
def test_ranges_ascend_apart_and_count_exactly_their_own_keys(question: Question) -> None:
    spans = made_for(question).left_out
    for span in spans:
        inside = [e for e in question.expected if span.start <= e < span.end]
        assert len(inside) == span.count
        assert inside[0] == span.start
        assert not question.settled.intersection(inside)
    assert all(a.end <= b.start for a, b in pairwise(spans))


@settings(max_examples=200, deadline=None)
@given(questions())
def test_deciding_again_on_what_is_left_leaves_nothing_open_but_old_losses(
    question: Question,
) -> None:
    made = made_for(question)
    handled = set(made.enqueue).union(
        e for span in made.left_out for e in question.expected if span.start <= e < span.end
    )
    again = made_for(replace(question, settled=question.settled | handled))
    assert again == Plan((), ())
