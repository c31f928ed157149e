"""Crontabs of users, of the system and of supercronic: what is carried, with which words."""

from __future__ import annotations

import pytest
from import_sources import about, codes, imported, loaded, one

from cronledger.adapters.imports.model import CronTrigger, Decision, Origin
from cronledger.core.cron import Layout

USER, SYSTEM, SUPER = Origin.CRONTAB, Origin.CRON_D, Origin.SUPERCRONIC


def trigger(origin: Origin, line: str) -> CronTrigger:
    found = one(origin, line + "\n")
    assert isinstance(found.trigger, CronTrigger), found.refusal
    assert not found.refusal
    return found.trigger


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("@daily backup", "0 0 * * *"),
        ("@midnight backup", "0 0 * * *"),
        ("@hourly backup", "0 * * * *"),
        ("@weekly backup", "0 0 * * 0"),
        ("@monthly backup", "0 0 1 * *"),
        ("@yearly backup", "0 0 1 1 *"),
        ("@annually backup", "0 0 1 1 *"),
        ("@every_minute backup", "* * * * *"),
        ("  5\t4 *  * sun   backup", "5 4 * * sun"),
        ("-*/10 * * * * backup", "*/10 * * * *"),
        ("5 4 * * 5-7 backup", "5 4 * * 5-7"),
    ],
)
def test_a_line_of_a_user_is_carried(line: str, text: str) -> None:
    assert trigger(USER, line).text == text


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot start", "@reboot names no time"),
        ("@every 5m start", "@every is no crontab syntax"),
        ("@300 start", "@300 is no crontab syntax"),
        ("@fortnightly start", "@fortnightly is no macro"),
        ("0 30 9 * * MON-FRI start", "six fields"),
        ("0 0 12 * * * start", "six fields"),
        ("0 0 1 1 * 2030 start", "six fields"),
        ("0 9 ? * 1 start", "? is not crontab syntax"),
        ("0 9 ? * L start", "? and L are not crontab syntax"),
        ("0 9 LW * * start", "W is not crontab syntax"),
        ("0 9 * * 5L start", "L is not crontab syntax"),
        ("H 9 * * * start", "H is not crontab syntax"),
        ("$MINUTE 9 * * * start", "template"),
        ("@MINUTE@ 9 * * * start", "template"),
        ("{{ minute }} 9 * * * start", "template"),
        ("5 {{ hour | default(2) }} * * * start", "template"),
        ("<%= @minute %> 9 * * * start", "template"),
        ("0 25 * * * start", "hour 25 is out of bounds"),
        ("0 9 31 2 * start", "never fires"),
        ("0 22-2 * * * start", "runs backwards"),
        ("0 9 * * 1-5", "no command"),
        ("0 9 *", "3 fields and no command"),
        ("start", "1 field and no command"),
        ("TZ=Europe/Paris 0 9 * * * start", "inline-zone-prefix"),
        ("CRON_TZ=Europe/Paris @daily start", "inline-zone-prefix"),
    ],
)
def test_what_cron_would_not_run_at_a_time_is_refused_with_the_line(line: str, reason: str) -> None:
    found = imported(USER, f"# first\n{line}\n0 1 * * * other\n")
    assert [entry.decision for entry in found.entries] == [Decision.REFUSE, Decision.CARRY]
    assert found.entries[0].line == 2
    assert reason in found.entries[0].refusal
    assert list(loaded(found).schedules) == ["other"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("0 2 * * * root /usr/bin/backup", "user-column-suspected"),
        ("0 2 * * * www-data php cron.php", "user-column-suspected"),
        ("0 2 * * * -n /usr/bin/backup", "openbsd-flags"),
        ("0 2 * * * -ns /usr/bin/backup", "openbsd-flags"),
        ("0~30 2 * * * backup", "random-minute"),
        ("~ ~ * * * backup", "random-minute"),
        ("0 */5 * * * backup", "uneven-step"),
        ("*/7 * * * * backup", "uneven-step"),
        ("0 0 */2 * * backup", "uneven-step"),
        ("0 0 * * */2 backup", "uneven-step"),
        ("0-59/25 * * * * backup", "uneven-step"),
        ("*/60 * * * * backup", "step-too-large"),
        ("*/90 * * * * backup", "step-too-large"),
        ("0 */24 * * * backup", "step-too-large"),
        ("0 9 13 * 5 backup", "or-days"),
        ("0 9 1-7 * mon backup", "or-days"),
        ("0 2 * * * tar cf a-$(date +%F).tar .", "percent-newline"),
        ("0 2 * * * {{ bin }}/backup", "template-in-command"),
        ("0 2 * * * @bindir@/backup", "template-in-command"),
        ("0 2 * * * _INSTALLPATH_/bin/backup", "template-in-command"),
        ("0 2 * * * __HOME__/backup", "template-in-command"),
        ("0 2 * * * <%= path %>/backup", "template-in-command"),
        ("0 2 * * * [ $(date +\\%d) -le 7 ] && backup", "guard-in-command"),
        ('0 2 * * * [ "$(date +\\%u)" = 7 ] && backup', "guard-in-command"),
        ("0 2 * * * test `date +\\%m` -eq 3 && backup", "guard-in-command"),
        ("0 2 * * * expr `date +\\%W` \\% 2 > /dev/null || backup", "guard-in-command"),
        ("0 2 * * * (( $(date +\\%V) \\% 2 )) && backup", "guard-in-command"),
        ("0 2 * * * date +\\%d | grep -q 01 && backup", "guard-in-command"),
    ],
)
def test_a_trap_is_carried_with_its_warning(line: str, code: str) -> None:
    found = one(USER, f"{line}\n")
    assert (found.decision, codes(found)) == (Decision.WARN, [code])


@pytest.mark.parametrize(
    "line",
    [
        "*/15 */6 * */3 * backup",
        "1-59/2 * * * * backup",
        "0 9-17/2 * * * backup",
        "0 2 * * * docker ps --format '{{.Names}}'",
        "0 2 * * * docker inspect -f '{{ .State.Status }}' app",
        "0 2 * * * tar cf a-$(date +\\%F).tar .",
        "0 2 * * * [ -f /backup/$(date +\\%F).tar ] || backup",
        "0 2 * * * find . -name '*.log' -exec gzip {} \\;",
        "0 2 * * * python -m app.__main__",
        "0 2 * * * mail -s report root@example.com,ops@example.com",
        "0 2 * * * git pull -q",
        "0 2 * * * 7z a x.7z .",
        "0 2 * * * backup  # every night",
    ],
)
def test_an_ordinary_line_is_carried_without_a_warning(line: str) -> None:
    found = one(USER, f"{line}\n")
    assert (found.decision, codes(found)) == (Decision.CARRY, [])


def test_the_command_is_what_cron_runs_and_the_rest_is_its_input() -> None:
    found = one(USER, "0 2 * * * dump > $(date +%Y%m%d).sql\n")
    assert found.payload == {"command": "dump > $(date +", "stdin": "Y\nm\nd).sql\n"}
    escaped = one(USER, "0 2 * * * dump > $(date +\\%F).sql\n")
    assert escaped.payload == {"command": "dump > $(date +%F).sql"}


def test_supercronic_has_no_percent_signs_of_its_own() -> None:
    found = one(SUPER, "0 2 * * * dump > $(date +%F).sql\n")
    assert found.payload == {"command": "dump > $(date +%F).sql"}
    assert codes(found) == []


def test_settings_go_with_the_commands_after_them() -> None:
    table = 'A = 1\n0 1 * * * x\n"B"=\'two words \'\nA="3"\n0 2 * * * y\nMAILTO=me\n0 3 * * * z\n'
    found = imported(USER, table)
    assert [entry.payload.get("environment") for entry in found.entries] == [
        {"A": "1"},
        {"A": "3", "B": "two words "},
        {"A": "3", "B": "two words "},
    ]
    assert about(found) == ["mail-not-carried", "zone-assumed"]
    payload = loaded(found).schedules["y"].job.payload
    assert payload == {"command": "y", "environment": {"A": "3", "B": "two words "}}


def test_each_zone_holds_until_the_next() -> None:
    table = (
        "0 1 * * * a\nCRON_TZ = 'Asia/Tokyo'\n0 1 * * * b\n"
        'CRON_TZ=:Europe/Oslo\n0 1 * * * c\nCRON_TZ=""\n0 1 * * * d\n'
    )
    zones = {n: s.timing.timezone for n, s in loaded(imported(USER, table)).schedules.items()}
    assert zones == {"a": "UTC", "b": "Asia/Tokyo", "c": "Europe/Oslo", "d": "UTC"}
    given = loaded(imported(USER, table, "America/Lima")).schedules
    assert given["a"].timing.timezone == given["d"].timing.timezone == "America/Lima"
    assert "zone-assumed" not in about(imported(USER, table, "America/Lima"))


def test_an_unknown_zone_refuses_the_lines_under_it_alone() -> None:
    found = imported(USER, "CRON_TZ=Europe/Berln\n0 1 * * * a\nCRON_TZ=UTC\n0 1 * * * b\n")
    assert [entry.decision for entry in found.entries] == [Decision.REFUSE, Decision.CARRY]
    assert "did you mean Europe/Berlin?" in found.entries[0].refusal


def test_tz_is_only_environment() -> None:
    found = one(USER, "TZ=Europe/Rome\n0 1 * * * a\n")
    assert codes(found) == ["tz-env-only"]
    assert (found.zone, found.payload["environment"]) == (None, {"TZ": "Europe/Rome"})
    both = one(USER, "CRON_TZ=Europe/Rome\nTZ=Europe/Rome\n0 1 * * * a\n")
    assert (both.zone, codes(both)) == ("Europe/Rome", [])


def test_line_ends_of_windows_are_said_once_and_left_out() -> None:
    found = imported(USER, "0 1 * * * a\r\n0 2 * * * b\r\n")
    assert [entry.payload["command"] for entry in found.entries] == ["a", "b"]
    assert about(found) == ["crlf", "zone-assumed"]


def test_a_last_line_without_its_end_is_warned_about() -> None:
    found = imported(USER, "0 1 * * * a\n0 2 * * * b")
    assert [codes(entry) for entry in found.entries] == [[], ["no-final-newline"]]
    assert codes(one(USER, "0 1 * * * a\n# the end")) == []
    assert codes(one(SUPER, "0 1 * * * a")) == []


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert one(USER, "\ufeff0 1 * * * a\n").decision is Decision.CARRY


def test_template_lines_are_no_entries_but_are_reported() -> None:
    found = imported(USER, "{% if backup %}\n0 1 * * * a\n{% endif %}\n{{#each x}}\n{{/each}}\n")
    assert [entry.line for entry in found.entries] == [2]
    assert [c.line for c in found.cautions if c.code == "template-line"] == [1, 3, 4, 5]


def test_the_random_minute_is_always_the_same_and_inside_its_span() -> None:
    texts = {trigger(USER, "10~20 3 * * * backup").text for _ in range(3)}
    assert len(texts) == 1
    minute = int(texts.pop().split()[0])
    assert 10 <= minute <= 20


@pytest.mark.parametrize(
    ("line", "user", "command"),
    [
        ("*/5 * * * * root /usr/bin/x", "root", "/usr/bin/x"),
        ("*/5 * * * *\twww-data\t[ -x /y ] && /y", "www-data", "[ -x /y ] && /y"),
        ("@daily postgres vacuumdb --all", "postgres", "vacuumdb --all"),
        ("17 *\t* * *\troot    cd / && run-parts /etc/cron.hourly", "root",
         "cd / && run-parts /etc/cron.hourly"),
    ],
)  # fmt: skip
def test_a_system_table_has_a_user_column(line: str, user: str, command: str) -> None:
    found = one(SYSTEM, f"{line}\n")
    assert (found.decision, codes(found)) == (Decision.CARRY, [])
    assert found.payload == {"command": command, "user": user}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0 3 * * * /usr/bin/nobody-there", "no user"),
        ("0 3 * * * root", "no command after 'root'"),
        ("0 0 5 * * * root x", "six fields"),
        ("@reboot root x", "@reboot"),
    ],
)
def test_a_system_line_without_its_user_is_refused(line: str, reason: str) -> None:
    assert reason in one(SYSTEM, f"{line}\n").refusal


@pytest.mark.parametrize(
    ("line", "text", "layout"),
    [
        ("*/5 * * * * x", "*/5 * * * *", Layout.FIVE),
        ("0 0 1 1 * 2030 x", "0 0 1 1 * 2030", Layout.YEAR),
        ("0 0 1 1 * * x", "0 0 1 1 *", Layout.FIVE),
        ("*/10 * * * * * * x", "*/10 * * * * *", Layout.SECONDS),
        ("0 5 4 * * * * x", "5 4 * * *", Layout.FIVE),
        ("30 5 4 * * * 2030-2031 x", "30 5 4 * * * 2030-2031", Layout.SEVEN),
        ("0 0 L * * x", "0 0 L * *", Layout.FIVE),
        ("0 0 15W * ? x", "0 0 15W * *", Layout.FIVE),
        ("0 0 ? * 5#2 x", "0 0 * * 5#2", Layout.FIVE),
        ("* * * * * 2 x", "* * * * *", Layout.FIVE),
        ("* * * * * echo hello world", "* * * * *", Layout.FIVE),
        ("@daily x", "0 0 * * *", Layout.FIVE),
    ],
)
def test_supercronic_reads_years_and_seconds(line: str, text: str, layout: Layout) -> None:
    assert trigger(SUPER, line) == CronTrigger(text, layout)


@pytest.mark.parametrize(
    "line",
    ["@reboot x", "@midnight x", "@every 1m x", "*/60 * * * * x", "0 0 L-3 * * x",
     "0 0 * * 5-7 x", "0 25 * * * x", "{{ x }} * * * * y", "* * * * *"],
)  # fmt: skip
def test_what_supercronic_does_not_read_is_refused(line: str) -> None:
    assert one(SUPER, f"{line}\n").refusal


def test_the_last_zone_governs_a_supercronic_table() -> None:
    found = imported(SUPER, "0 1 * * * a\nCRON_TZ=Asia/Tokyo\n0 1 * * * b\n")
    assert [entry.zone for entry in found.entries] == ["Asia/Tokyo", "Asia/Tokyo"]
    assert [codes(entry) for entry in found.entries] == [["cron-tz-last-wins"], []]
    assert about(found) == []


def test_both_days_of_supercronic_unite_even_with_a_step() -> None:
    file = loaded(imported(SUPER, "0 0 */2 * 1 a\n"))
    assert file.schedules["a"].timing.day_rule == "or"
