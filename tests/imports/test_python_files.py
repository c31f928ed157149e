"""Celery, Airflow and Dagster files: what can be read without running them, and what cannot."""

from __future__ import annotations

from datetime import timedelta

import pytest
from import_sources import about, codes, imported, loaded, one

from cronledger.adapters.imports.model import CronTrigger, Decision, Entry, Every, Origin
from cronledger.core.cron import Layout
from cronledger.core.schedule import DST_PRESETS, CatchupPolicy
from cronledger.errors import ConfigError

CELERY, AIRFLOW, DAGSTER = Origin.CELERY, Origin.AIRFLOW, Origin.DAGSTER


def beat(schedule: str, head: str = "") -> Entry:
    """The only entry of a beat module; intervals are not passed to the loader."""
    text = f"{head}\nbeat_schedule = {{'a': {{'task': 't', 'schedule': {schedule}}}}}\n"
    (entry,) = imported(CELERY, text).entries
    return entry


def dag(arguments: str, head: str = "") -> Entry:
    (entry,) = imported(AIRFLOW, f"{head}\nDAG('d', {arguments})\n").entries
    return entry


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("crontab()", "* * * * *"),
        ("crontab(minute=0)", "0 * * * *"),
        ("crontab(minute='0', hour='*/3,10-19')", "0 */3,10-19 * * *"),
        ("crontab(0, 7)", "0 7 * * *"),
        ("crontab(hour=7, minute=30, day_of_week=1)", "30 7 * * 1"),
        ("crontab(0, 0, day_of_week='mon-fri')", "0 0 * * 1-5"),
        ("crontab(0, 0, day_of_week='sunday')", "0 0 * * 0"),
        ("crontab(0, 0, day_of_week='sat-mon')", "0 0 * * 0,1,6"),
        ("crontab(0, '22-2')", "0 0,1,2,22,23 * * *"),
        ("crontab(0, '22-4/2')", "0 0,2,4,22 * * *"),
        ("crontab(minute=[0, 30], hour=range(8, 11))", "0,30 8,9,10 * * *"),
        ("crontab(minute=0, hour={6, 18})", "0 6,18 * * *"),
        ("crontab(0, 0, day_of_month='1', month_of_year='*/3')", "0 0 1 */3 *"),
        ("crontab(0, 0, month_of_year='jan')", "0 0 * 1 *"),
        ("celery.schedules.crontab(minute=5)", "5 * * * *"),
    ],
)
def test_a_crontab_of_celery_is_carried(call: str, text: str) -> None:
    found = beat(call)
    assert (found.decision, found.trigger) == (Decision.CARRY, CronTrigger(text))


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("crontab(minute=os.environ['M'])", "not a literal"),
        ("crontab(**kw)", "not a literal"),
        ("crontab(0, 0, day_of_week=7)", "0 to 6"),
        ("crontab(minute='5/10')", "write 5-59/10"),
        ("crontab(hour=24, minute=0)", "0 to 23"),
        ("crontab(minute='{{ m }}')", "template"),
        ("crontab(minute=0, nowfun=now)", "nowfun"),
        ("crontab(minute=0, seconds=5)", "no argument 'seconds'"),
        ("crontab(0, 0, day_of_month=31, month_of_year=2)", "never fires"),
        ("solar('sunset', 1, 2)", "sun"),
        ("get_schedule()", "not a literal"),
        ("SCHEDULE", "not a literal"),
        ("0.5", "interval of 0.5 s"),
        ("timedelta(milliseconds=1500)", "interval of 1.5 s"),
        ("timedelta(seconds=settings.X)", "not a literal"),
        ("-5", "interval of -5 s"),
        ("True", "not a literal"),
    ],
)
def test_what_celery_would_decide_at_run_time_is_refused(schedule: str, reason: str) -> None:
    assert reason in beat(schedule).refusal


@pytest.mark.parametrize(
    ("schedule", "span", "written"),
    [
        ("30", timedelta(seconds=30), "PT30S"),
        ("60.0 * 5", timedelta(minutes=5), "PT5M"),
        ("timedelta(minutes=90)", timedelta(minutes=90), "PT1H30M"),
        ("timedelta(1)", timedelta(days=1), "PT24H"),
        ("datetime.timedelta(hours=HOURS)", timedelta(hours=6), "PT6H"),
        ("schedule(run_every=timedelta(minutes=7))", timedelta(minutes=7), "PT7M"),
    ],
)
def test_an_interval_of_celery_is_carried_with_its_phase(
    schedule: str, span: timedelta, written: str
) -> None:
    head = "HOURS = 6"
    found = beat(schedule, head)
    assert (found.trigger, codes(found)) == (Every(span), ["interval-phase"])
    text = f"{head}\nbeat_schedule = {{'a': {{'task': 't', 'schedule': {schedule}}}}}\n"
    made = imported(CELERY, text)
    assert f"every: {written}\n" in made.text
    loaded(made)


def test_the_traps_of_a_crontab_of_celery() -> None:
    assert codes(beat("crontab(hour=7)")) == ["minute-not-set"]
    assert codes(beat("crontab(day_of_week='mon')")) == ["minute-not-set"]
    assert codes(beat("crontab(0, '*/5')")) == ["uneven-step"]
    assert codes(beat("crontab(minute='*/90')")) == ["step-too-large"]
    assert codes(beat("crontab(0, 0, day_of_month='1-7', day_of_week=1)")) == ["and-days"]
    text = "beat_schedule = {'a': {'schedule': crontab(0, 0, day_of_month='1-7', day_of_week=1)}}\n"
    timing = loaded(imported(CELERY, text)).schedules["a"].timing
    assert (timing.day_rule, timing.dst) == ("and", DST_PRESETS["rfc5545"])


@pytest.mark.parametrize(
    "text",
    [
        "CELERY_BEAT_SCHEDULE = {'a': {'task': 't', 'schedule': crontab(minute=0)}}",
        "CELERYBEAT_SCHEDULE: dict = {'a': {'task': 't', 'schedule': crontab(minute=0)}}",
        "app.conf.beat_schedule = {'a': dict(task='t', schedule=crontab(minute=0))}",
        "app.conf.update(beat_schedule={'a': {'task': 't', 'schedule': crontab(minute=0)}})",
        "app.conf.update({'beat_schedule': {'a': {'task': 't', 'schedule': crontab(minute=0)}}})",
        "CELERY = {'beat_schedule': {'a': {'task': 't', 'schedule': crontab(minute=0)}}}",
        "S = {'a': {'task': 't', 'schedule': crontab(minute=0)}}\napp.conf.beat_schedule = S",
        "beat_schedule = {'a': {'task': 't', 'schedule': crontab(minute=0)}}\n"
        "app.conf.beat_schedule = beat_schedule",
        "B = {'a': {'task': 't', 'schedule': crontab(minute=0)}}\nbeat_schedule = {**B}",
        "B = {'a': {'task': 't', 'schedule': crontab(minute=0)}}\nbeat_schedule = B | {}",
        "class Config:\n    beat_schedule = {'a': {'task': 't', 'schedule': crontab(minute=0)}}",
        "app.conf.beat_schedule['a'] = {'task': 't', 'schedule': crontab(minute=0)}",
        "beat_schedule.update({'a': {'task': 't', 'schedule': crontab(minute=0)}})",
        "def f(sender):\n    sender.add_periodic_task(crontab(minute=0), t.s(), name='a')",
    ],
)
def test_a_beat_schedule_is_found_however_it_is_written(text: str) -> None:
    found = imported(CELERY, text + "\n")
    (entry,) = found.entries
    assert (entry.id, entry.kind, entry.trigger) == ("a", "t", CronTrigger("0 * * * *"))
    assert about(found) == ["zone-assumed"]
    assert loaded(found).schedules["a"].job.kind == "t"


@pytest.mark.parametrize(
    ("head", "zone"),
    [
        ("timezone = 'Asia/Tokyo'", "Asia/Tokyo"),
        ("CELERY_TIMEZONE = 'Asia/Tokyo'", "Asia/Tokyo"),
        ("app.conf.timezone = ZoneInfo('Asia/Tokyo')", "Asia/Tokyo"),
        ("app.conf.update(timezone='Asia/Tokyo', enable_utc=True)", "Asia/Tokyo"),
        ("TIME_ZONE = 'Asia/Tokyo'\nCELERY_TIMEZONE = TIME_ZONE", "Asia/Tokyo"),
        ("timezone = 'UTC'\ntimezone = 'Asia/Tokyo'", "Asia/Tokyo"),
        ("# timezone = 'Asia/Tokyo'", None),
    ],
)
def test_the_zone_of_the_application_is_read(head: str, zone: str | None) -> None:
    assert beat("crontab(minute=0)", head).zone == zone


@pytest.mark.parametrize("head", ["timezone = tz()", "if X:\n    Z = 'UTC'\ntimezone = Z"])
def test_a_zone_that_is_no_literal_refuses_crons_but_no_intervals(head: str) -> None:
    assert "zone is not a literal" in beat("crontab(minute=0)", head).refusal
    assert beat("30", head).decision is Decision.WARN


def test_loops_conditions_and_comprehensions_are_not_followed() -> None:
    text = (
        "for n in names:\n    beat_schedule[n] = {'task': n, 'schedule': 10}\n"
        "    app.add_periodic_task(10, t.s(n))\n"
        "if DEBUG:\n    beat_schedule['b'] = {'task': 't', 'schedule': crontab(minute=0)}\n"
        "CELERY_BEAT_SCHEDULE = {n: {} for n in names}\n"
    )
    found = imported(CELERY, text)
    assert [entry.decision.value for entry in found.entries] == ["refuse"]
    assert about(found).count("overridden") == 3
    kept = imported(CELERY, text.rsplit("CELERY", 1)[0])
    assert [entry.decision.value for entry in kept.entries] == ["refuse", "refuse", "warn"]
    assert codes(kept.entries[2]) == ["conditional"]


def test_a_later_entry_of_the_same_name_replaces_the_earlier_one_aloud() -> None:
    text = (
        "beat_schedule = {'a': {'schedule': crontab(minute=1)}, 'a': {'schedule': crontab(2)}}\n"
        "beat_schedule['a'] = {'schedule': crontab(minute=3), 'schedule': crontab(minute=4)}\n"
    )
    found = imported(CELERY, text)
    assert [entry.trigger for entry in found.entries] == [CronTrigger("4 * * * *")]
    assert codes(found.entries[0]) == ["overridden"]
    assert about(found) == ["overridden", "overridden", "zone-assumed"]


def test_classes_do_not_replace_each_other() -> None:
    table = "    beat_schedule = {'a': {'task': 't', 'schedule': crontab(minute=0)}}\n"
    found = imported(CELERY, f"class Dev:\n{table}class Prod:\n{table}")
    assert len(found.entries) == len(loaded(found).schedules) == 2


@pytest.mark.parametrize("text", ["print 'old'\n", "x = (\n", "\tx\n y\n"])
def test_what_is_not_python_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError, match="not Python"):
        imported(CELERY, text)


@pytest.mark.parametrize(
    ("arguments", "trigger"),
    [
        ("schedule='0 5 * * 1-5'", CronTrigger("0 5 * * 1-5")),
        ("schedule_interval='@daily'", CronTrigger("0 0 * * *")),
        ("schedule='@quarterly'", CronTrigger("0 0 1 */3 *")),
        ("schedule=WHEN", CronTrigger("5 4 * * *")),
        ("timetable=CronDataIntervalTimetable('0 1 * * *', 'UTC')", CronTrigger("0 1 * * *")),
        ("schedule=CronTriggerTimetable(cron='0 1 * * *', timezone='UTC')",
         CronTrigger("0 1 * * *")),
        ("schedule='0 0 * * L5'", CronTrigger("0 0 * * 5L")),
        ("schedule='0 0 * * 5#2'", CronTrigger("0 0 * * 5#2")),
        ("schedule='0 22-2 * * *'", CronTrigger("0 0,1,2,22,23 * * *")),
        ("schedule='* * * * * */5'", CronTrigger("*/5 * * * * *", Layout.SECONDS)),
    ],
)  # fmt: skip
def test_a_schedule_of_airflow_is_carried(arguments: str, trigger: CronTrigger) -> None:
    found = dag(arguments, "WHEN = '5 4 * * *'")
    assert (found.decision, found.trigger, found.id) == (Decision.CARRY, trigger, "d")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("schedule=os.getenv('S', '0 1 * * *')", "not a literal"),
        ("schedule=f'{m} 1 * * *'", "not a literal"),
        ("schedule='@daily' if PROD else None", "not a literal"),
        ("schedule=config['schedule']", "not a literal"),
        ("schedule=Variable.get('x')", "not a literal"),
        ("schedule='{{ var.value.x }}'", "template"),
        ("schedule='@once'", "runs once"),
        ("schedule='@continuous'", "not by the clock"),
        ("schedule=[Dataset('x')]", "assets"),
        ("schedule=Asset('x')", "assets"),
        ("schedule=relativedelta(months=1)", "not a literal"),
        ("schedule='0 0 30 2 *'", "never fires"),
        ("schedule='0 25 * * *'", "hour 25"),
        ("schedule='0 1 * * *', start_date=datetime(2023, 1, 1, tzinfo=tz())", "zone"),
        ("schedule='0 1 * * *', start_date=pendulum.datetime(2023, 1, 1, tz='Erope/Oslo')",
         "did you mean Europe/Oslo?"),
        ("tags=[]", "no schedule is given"),
    ],
)  # fmt: skip
def test_what_airflow_would_decide_at_run_time_is_refused(arguments: str, reason: str) -> None:
    assert reason in dag(arguments).refusal


@pytest.mark.parametrize(
    ("start", "zone"),
    [
        ("pendulum.datetime(2023, 1, 1, tz='Europe/Oslo')", "Europe/Oslo"),
        ("pendulum.datetime(2023, 1, 1)", "UTC"),
        ("datetime(2023, 1, 1, tzinfo=pendulum.timezone('Europe/Oslo'))", "Europe/Oslo"),
        ("datetime(2023, 1, 1, tzinfo=ZoneInfo('Europe/Oslo'))", "Europe/Oslo"),
        ("datetime(2023, 1, 1, tzinfo=timezone.utc)", "UTC"),
        ("datetime(2023, 1, 1, tzinfo=TZ)", "Europe/Oslo"),
        ("pendulum.today('Europe/Oslo').add(days=-1)", "Europe/Oslo"),
        ("pendulum.today('Europe/Oslo') - timedelta(days=1)", "Europe/Oslo"),
        ("TZ.localize(datetime(2023, 1, 1))", "Europe/Oslo"),
        ("datetime(2023, 1, 1)", None),
        ("days_ago(1)", None),
    ],
)
def test_the_zone_of_a_dag_is_that_of_its_start_date(start: str, zone: str | None) -> None:
    head = f"TZ = pytz.timezone('Europe/Oslo')\nARGS = {{'start_date': {start}}}"
    assert dag(f"schedule='0 1 * * *', start_date={start}", head).zone == zone
    assert dag("schedule='0 1 * * *', default_args=ARGS", head).zone == zone


def test_a_start_date_that_may_hide_is_warned_about() -> None:
    assert codes(dag("schedule='0 1 * * *', default_args=make()")) == ["zone-assumed"]


def test_the_other_ways_to_write_a_dag() -> None:
    text = (
        "@dag(schedule='0 1 * * *', start_date=days_ago(1), catchup=True)\ndef first(): pass\n"
        "@dag\ndef second(): pass\n"
        "DAG('third', schedule=None)\n"
        "for x in y:\n    DAG(f'd{x}', schedule='0 2 * * *')\n"
        "with DAG('fourth', 'words', '0 3 * * *', is_paused_upon_creation=True): pass\n"
        "T = MultipleCronTriggerTimetable('0 4 * * *', '0 5 * * *', timezone='UTC')\n"
        "DAG('fifth', schedule=T)\n"
        "DAG('sixth', schedule=timedelta(hours=6))\n"
    )
    found = imported(AIRFLOW, text)
    assert [(entry.line, entry.decision.value) for entry in found.entries] == [
        (1, "carry"), (7, "refuse"), (8, "warn"), (10, "carry"), (10, "carry"), (11, "warn"),
    ]  # fmt: skip
    assert codes(found.entries[2]) == ["suspended"]
    assert about(found) == ["no-schedule", "no-schedule", "zone-assumed"]
    without_interval = loaded(imported(AIRFLOW, text.rsplit("DAG('sixth'", 1)[0]))
    assert without_interval.schedules["first"].catchup.policy is CatchupPolicy.ALL
    assert without_interval.schedules["first"].timing.dst == DST_PRESETS["airflow"]
    assert without_interval.schedules["fourth"].pauses


def test_the_day_fields_of_airflow_unite_unless_one_is_bare() -> None:
    found = imported(AIRFLOW, "DAG('d', schedule='0 1 */2 * 1')\n")
    assert loaded(found).schedules["d"].timing.day_rule == "or"
    assert codes(found.entries[0]) == ["uneven-step", "or-days"]


@pytest.mark.parametrize(
    ("text", "names", "zone"),
    [
        ("@schedule(cron_schedule='0 6 * * 1', job=j)\ndef f(c): ...", ["f"], None),
        ("@dagster.schedule(cron_schedule=C, job=j)\ndef f(c): ...", ["f"], None),
        ("@schedule('0 6 * * 1', job=j)\ndef f(c): ...", ["f"], None),
        ("s = ScheduleDefinition(job=j, cron_schedule='@daily')", ["j"], None),
        ("ScheduleDefinition(name='n', job=j, cron_schedule='0 6 * * 1',"
         " execution_timezone='Asia/Tokyo')", ["n"], "Asia/Tokyo"),
        ("ScheduleDefinition(job_name='n', cron_schedule='0 6 * * 1',"
         " execution_timezone=None)", ["n"], None),
    ],
)  # fmt: skip
def test_a_schedule_of_dagster_is_carried(text: str, names: list[str], zone: str | None) -> None:
    found = imported(DAGSTER, f"C = '0 6 * * 1'\n{text}\n")
    assert [entry.id for entry in found.entries] == names
    assert [(entry.decision, entry.zone) for entry in found.entries] == [(Decision.CARRY, zone)]
    assert loaded(found).schedules[names[0]].timing.dst == DST_PRESETS["dagster"]
    assert about(found) == []


def test_several_crons_of_one_schedule_are_several_schedules() -> None:
    text = "ScheduleDefinition(job=j, cron_schedule=['0 1 * * *', '0 2 * * *'])\n"
    found = imported(DAGSTER, text)
    assert len(loaded(found).schedules) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@schedule(cron_schedule=get(), job=j)\ndef f(c): ...", "not a literal"),
        ("@schedule(cron_schedule='0 0 6 * * 1', job=j)\ndef f(c): ...", "6 fields"),
        ("@schedule(job=j)\ndef f(c): ...", "no cron_schedule"),
        ("ScheduleDefinition(job=j, cron_schedule='0 6 * * 1', execution_timezone=T)", "zone"),
        ("ScheduleDefinition(job=j, cron_schedule='0 6 * * 1', execution_timezone='X/Y')", "X/Y"),
        ("build_schedule_from_partitioned_job(j)", "partitions"),
        ("@daily_schedule(start_date=x)\ndef f(c): ...", "old Dagster"),
        ("@asset(automation_condition=AutomationCondition.on_cron('0 1 * * *'))\ndef f(): ...",
         "condition"),
        ("for c in cs:\n    ScheduleDefinition(job=j, cron_schedule='0 6 * * 1')", "loop"),
    ],
)  # fmt: skip
def test_what_dagster_would_decide_at_run_time_is_refused(text: str, reason: str) -> None:
    assert reason in one(DAGSTER, f"{text}\n").refusal


def test_should_execute_does_less_than_the_schedule_says() -> None:
    text = "@schedule(cron_schedule='@daily', job=j, should_execute=f)\ndef g(c): ...\n"
    assert codes(one(DAGSTER, text)) == ["guard-in-command"]
