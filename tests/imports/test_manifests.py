"""Kubernetes manifests and GitHub workflows: what their APIs take, and how each is carried."""

from __future__ import annotations

from datetime import timedelta

import pytest
from import_sources import about, codes, imported, loaded, one

from cronledger.adapters.imports.model import CronTrigger, Decision, Every, Imported, Origin

K8S, GITHUB = Origin.KUBERNETES, Origin.GITHUB


def manifest(spec: str, head: str = "apiVersion: batch/v1", name: str = "job") -> str:
    return f"{head}\nkind: CronJob\nmetadata: {{name: {name}}}\nspec:\n  timeZone: UTC\n{spec}\n"


def workflow(schedule: str, rest: str = "") -> str:
    return f"name: night\non:\n  schedule:\n{schedule}\n{rest}"


def refusals(found: Imported) -> list[str]:
    return [entry.refusal for entry in found.entries if entry.refusal]


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ('"0 2 * * *"', "0 2 * * *"),
        ("0 2 * * *", "0 2 * * *"),
        ("'@daily'", "0 0 * * *"),
        ("'@midnight'", "0 0 * * *"),
        ('"? 2 ? * MON"', "* 2 * * MON"),
        ('"*/1 * * * *"', "* * * * *"),
        ("|-\n    5 4 * * *", "5 4 * * *"),
    ],
)
def test_a_schedule_of_the_api_is_carried(schedule: str, text: str) -> None:
    found = one(K8S, manifest(f"  schedule: {schedule}"))
    assert (found.decision, found.trigger) == (Decision.CARRY, CronTrigger(text))


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ('"*/15 * * *"', "4 fields instead of 5"),
        ('"0 0 5 * * *"', "6 fields instead of 5"),
        ('"CRON_TZ=UTC 0 5 * * *"', "write spec.timeZone"),
        ('"TZ=UTC 0 5 * * *"', "write spec.timeZone"),
        ('"0 0 * * 7"', "write 0 for Sunday"),
        ('"0 0 L * *"', "does not read 'L'"),
        ('"0 0 * * 5#1"', "does not read '5#1'"),
        ('"0 0 31 2 *"', "never fires"),
        ('"0 24 * * *"', "hour 24"),
        ('"@reboot"', "no macro"),
        ('"@every soon"', "no interval"),
        ('"{{ .Values.schedule }}"', "template"),
        ("{{ .Values.schedule }}", "template"),
        ('"${SCHEDULE}"', "template"),
        ('""', "0 fields"),
        ("*/5 * * * *", "must be quoted"),
    ],
)
def test_what_the_api_refuses_is_refused(schedule: str, reason: str) -> None:
    found = one(K8S, manifest(f"  schedule: {schedule}"))
    assert reason in found.refusal
    assert found.line == 6


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("  suspend: true", "suspended"),
        ("  timezone: Europe/Berlin", "unknown-key"),
        ("  startingDeadlineSeconds: -5", "unknown-value"),
        ("  jobTemplate: {spec: {template: {spec: {containers: [{image: '{{ .x }}'}]}}}}",
         "template-in-command"),
        ("  jobTemplate: {spec: {template: {spec: {containers: [{image: {{ .x }} }]}}}}",
         "template-in-command"),
    ],
)  # fmt: skip
def test_the_spec_is_carried_with_its_warning(spec: str, code: str) -> None:
    found = one(K8S, manifest(f'  schedule: "0 2 * * *"\n{spec}'))
    assert (found.decision, codes(found)) == (Decision.WARN, [code])


def test_what_is_suspended_is_paused_and_a_starting_deadline_is_a_deadline() -> None:
    spec = '  schedule: "0 2 * * *"\n  suspend: true\n  startingDeadlineSeconds: 200'
    schedule = loaded(imported(K8S, manifest(spec))).schedules["job"]
    assert schedule.deadline == timedelta(seconds=200)
    (pause,) = schedule.pauses
    assert pause.end is None
    assert "suspend" in pause.reason


def test_a_zone_that_is_missing_is_assumed_unless_one_is_given() -> None:
    text = manifest('  schedule: "0 2 * * *"').replace("  timeZone: UTC\n", "")
    assert codes(one(K8S, text)) == ["zone-assumed"]
    given = one(K8S, text, "Europe/Oslo")
    assert (codes(given), given.zone) == ([], "Europe/Oslo")


@pytest.mark.parametrize("zone", ['""', "Local", "local", "Europe/Berln", '"{{ .tz }}"'])
def test_a_zone_that_the_api_refuses_is_refused(zone: str) -> None:
    text = manifest('  schedule: "0 2 * * *"').replace("timeZone: UTC", f"timeZone: {zone}")
    assert one(K8S, text).refusal


def test_an_old_api_version_is_warned_about() -> None:
    text = manifest('  schedule: "0 2 * * *"', "apiVersion: batch/v1beta1")
    assert codes(one(K8S, text)) == ["old-api-version"]


def test_the_day_fields_unite_unless_one_is_bare() -> None:
    found = imported(K8S, manifest('  schedule: "0 0 */2 * 1"'))
    assert loaded(found).schedules["job"].timing.day_rule == "or"


def test_an_interval_counts_from_elsewhere() -> None:
    found = imported(K8S, manifest('  schedule: "@every 1h30m"')).entries[0]
    assert (found.trigger, codes(found)) == (Every(timedelta(minutes=90)), ["interval-phase"])


def test_lists_are_searched_and_other_kinds_passed_over() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- kind: Service\n- kind: CronJob\n"
        "  metadata: {name: a}\n  spec: {schedule: '0 1 * * *', timeZone: UTC}\n"
        "---\nkind: CronJobList\nitems:\n- metadata: {name: b}\n"
        "  spec: {schedule: '0 2 * * *', timeZone: UTC}\n"
        "---\n---\nkind: CronWorkflow\nspec: {schedule: '0 3 * * *'}\n"
    )
    found = imported(K8S, text)
    assert [(entry.id, entry.line) for entry in found.entries] == [("a", 7), ("b", 12)]
    assert about(found) == ["other-kind"]


def test_shared_parts_and_merged_keys_are_followed() -> None:
    text = (
        "kind: CronJob\nmetadata: {name: a}\nspec: &s {schedule: '0 1 * * *', timeZone: UTC}\n"
        "---\nkind: CronJob\nmetadata: {name: b}\n"
        "x: &t {timeZone: Asia/Tokyo}\nspec: {<<: *t, schedule: '0 2 * * *'}\n"
    )
    assert [entry.zone for entry in imported(K8S, text).entries] == ["UTC", "Asia/Tokyo"]


def test_a_chart_before_it_is_rendered_is_refused_whole() -> None:
    text = (
        '{{- if .Values.on }}\nkind: CronJob\nmetadata:\n  name: {{ include "x" . }}\nspec:\n'
        '  schedule: "0 2 * * *"\n{{- end }}\n---\nkind: CronJob\nmetadata: {name: b}\n'
        'spec: {schedule: "0 3 * * *"}\n---\nkind: Service\nmetadata: {{ x }}: y\n'
    )
    found = imported(K8S, text)
    assert [entry.line for entry in found.entries] == [6, 11]
    assert all("render it first" in reason for reason in refusals(found))
    assert about(found) == ["other-kind"]


def test_a_broken_document_leaves_the_others_alone() -> None:
    text = manifest('  schedule: "0 2 * * *') + "---\n" + manifest('  schedule: "0 3 * * *"')
    found = imported(K8S, text)
    assert [entry.decision for entry in found.entries] == [Decision.REFUSE, Decision.CARRY]
    assert "not valid YAML" in found.entries[0].refusal


def test_a_cronjob_without_a_schedule_is_refused() -> None:
    assert "no schedule" in one(K8S, manifest("  suspend: false")).refusal
    assert "no spec" in one(K8S, "kind: CronJob\nmetadata: {name: a}\n").refusal


def test_the_command_is_that_of_the_first_container() -> None:
    spec = (
        '  schedule: "0 2 * * *"\n  concurrencyPolicy: Forbid\n'
        "  jobTemplate: {spec: {template: {spec: {containers: "
        "[{name: r, image: i, command: [sh, -c], args: ['a && b']}]}}}}"
    )
    found = imported(K8S, manifest(spec))
    assert found.entries[0].payload == {"command": "sh -c 'a && b'", "image": "i"}
    assert "overlap: skip" in found.text


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("    - cron: '@daily'", "does not read @daily"),
        ("    - cron: '0 0 5 * * *'", "6 fields"),
        ("    - cron: '0 0 ? * 1'", "does not read '?'"),
        ("    - cron: '0 0 L * *'", "does not read 'L'"),
        ("    - cron: '${{ vars.WHEN }}'", "template"),
        ("    - cron: {{ cookiecutter.when }}", "template"),
        ("    - cron: '0 8 * * *'\n      timezone: Europe/Londn", "did you mean Europe/London?"),
        ("    - cron: '0 8 * * *'\n      timeZone: Europe/London", "write timezone"),
        ("    - cron: '0 8 * * *'\n      tz: Europe/London", "write timezone"),
        ("    - cron: */5 * * * *", "must be quoted"),
        ("    - crontab: '0 8 * * *'", "no cron"),
        ("    cron: '0 8 * * *'", "must be a list"),
    ],
)
def test_what_github_refuses_is_refused(item: str, reason: str) -> None:
    assert reason in one(GITHUB, workflow(item)).refusal


@pytest.mark.parametrize("cron", ["*/3 * * * *", "* * * * *", "0,2 5 * * *", "58,1 * * * *"])
def test_more_than_every_five_minutes_is_warned_about(cron: str) -> None:
    assert codes(one(GITHUB, workflow(f"    - cron: '{cron}'"))) == ["too-frequent"]


@pytest.mark.parametrize("cron", ["*/5 * * * *", "0 0 * * SUN", "58 1 * * *", "0,30 9 * * 1-5"])
def test_a_cron_without_a_zone_runs_in_utc_and_needs_no_warning(cron: str) -> None:
    found = imported(GITHUB, workflow(f"    - cron: '{cron}'"))
    assert (found.entries[0].decision, about(found)) == (Decision.CARRY, [])


def test_a_condition_on_the_text_of_a_schedule_is_warned_about() -> None:
    steps = (
        "jobs:\n  a:\n    steps:\n      - if: github.event.schedule == '0 8 * * *'\n"
        "      - if: github.event.schedule == '0 9 * * *'\n"
    )
    found = imported(GITHUB, workflow("    - cron: 0 8 * * *\n    - cron: 0 10 * * *", steps))
    assert [codes(entry) for entry in found.entries] == [["condition-on-schedule-text"], []]
    assert about(found) == ["condition-on-schedule-text"]


@pytest.mark.parametrize("text", ["on: push\n", "on: [push]\n", "on:\n  push:\n", "x: 1\n", ""])
def test_a_workflow_without_a_schedule_says_that_it_has_none(text: str) -> None:
    assert about(imported(GITHUB, text)) == ["nothing-found"]
