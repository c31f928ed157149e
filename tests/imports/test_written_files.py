"""What an import writes and reports: ids, text that YAML reads back, bounds, unreadable sources."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from import_sources import about, imported, loaded, one, zones

from cronledger.adapters.imports.convert import DST, MAX_BYTES, Asked, convert, origin
from cronledger.adapters.imports.model import Origin
from cronledger.adapters.imports.names import slug
from cronledger.adapters.imports.report import report
from cronledger.core.keys import SCHEDULE_ID
from cronledger.errors import ConfigError

USER = Origin.CRONTAB
STORABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/local/bin/backup.sh --all", "backup"),
        ("cd /srv/app && php artisan schedule:run >> /dev/null 2>&1", "artisan-schedule-run"),
        ("RAILS_ENV=production bundle exec rake db:clean", "rake-db-clean"),
        ("flock -n /tmp/a.lock timeout 60 /opt/x/run.sh sync", "x-run-sync"),
        ("sudo -u app nice -n 19 /opt/report.py daily", "report-daily"),
        ("[ -x /usr/sbin/anacron ] || run-parts /etc/cron.daily", "run-parts"),
        ("{{ django }} task_a", "task_a"),
        ("日次バックアップ", "schedule"),
    ],
)
def test_an_id_is_what_people_would_call_the_command(command: str, name: str) -> None:
    assert imported(USER, f"0 1 * * * {command}\n").entries[0].id == name


def test_an_id_is_unique_and_stays_when_others_are_added_after_it() -> None:
    table = "0 1 * * * a\n0 2 * * * a\n0 3 * * * a\n0 3 * * * a\n"
    before = [entry.id for entry in imported(USER, table).entries]
    after = [entry.id for entry in imported(USER, table + "0 4 * * * a\n").entries]
    assert before[0] == "a"
    assert after[:4] == before
    assert len(set(after)) == 5


@given(st.lists(st.text(STORABLE, max_size=80), min_size=1, max_size=4))
@settings(max_examples=150)
def test_every_id_is_valid(names: list[str]) -> None:
    for name in names:
        assert slug(name) == "" or SCHEDULE_ID.fullmatch(slug(name))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
@settings(max_examples=200)
def test_every_command_is_read_back_as_it_was(words: str) -> None:
    found = imported(Origin.SUPERCRONIC, f"0 1 * * * x {words}.\n")
    (entry,) = found.entries
    payload = loaded(found).schedules[entry.id].job.payload
    assert payload["command"] == f"x {words}.".strip()


@pytest.mark.parametrize("name", list(Origin))
def test_every_origin_has_its_dst_policy_in_an_empty_file_too(name: Origin) -> None:
    found = imported(name, "")
    assert loaded(found).schedules == {}
    assert about(found) == ["nothing-found"]
    assert DST[name]


def test_what_a_command_cannot_be_stored_is_refused() -> None:
    assert "at most" in one(USER, f"0 1 * * * x {'y' * 70_000}\n").refusal


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"0 1 * * * a\n\x00\x01", "control character U+0000"),
        (b"\x7fELF\x02\x01\x01\x00", "control character"),
        (b"0 1 * * * caf\xe9\n", "is not UTF-8"),
        ("0 1 * * * a\n".encode("utf-16"), "UTF-16"),
        (b"#" * (MAX_BYTES + 1), "larger than"),
        (b"0 1 * * * a\n" * 20_001, "more than 20000 entries"),
    ],
)
def test_what_is_no_text_of_a_bearable_size_cannot_be_read(data: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("+", r"\+")):
        imported(USER, data)


def test_an_unknown_origin_or_zone_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"write one of crontab, cron\.d, supercronic"):
        origin("cron")
    with pytest.raises(ConfigError, match="did you mean Europe/Oslo"):
        convert(b"", Asked(USER, "x", "Europe/Olso"), zones())


def test_the_report_counts_and_tells_every_entry() -> None:
    found = imported(USER, "0 1 * * * a\n0 */5 * * * b\n@reboot c\n", path="tab")
    told = report(found)
    assert told["counts"] == {"entries": 3, "carried": 2, "with_warning": 1, "refused": 1}
    assert [(e["line"], e["decision"], e["schedule"], e["trigger"]) for e in told["entries"]] == [
        (1, "carry", "a", "0 1 * * *"),
        (2, "warn", "b", "0 */5 * * *"),
        (3, "refuse", None, None),
    ]
    assert told["entries"][1]["warnings"][0]["line"] == 2
    assert told["entries"][2]["reason"].startswith("@reboot")
    assert [warning["code"] for warning in told["warnings"]] == ["zone-assumed"]
