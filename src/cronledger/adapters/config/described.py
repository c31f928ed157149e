"""What each key of the schedule file is, in the words that an editor shows beside it."""

from __future__ import annotations

from collections.abc import Mapping

# By key, or by shape and key where one key means two things.
DESCRIPTIONS: Mapping[str, str] = {
    "version": "The version of this language.",
    "defaults": "What every schedule has unless it says otherwise.",
    "queues": "Settings of queues by name; a queue that only a job names has the usual ones.",
    "schedules": "The schedules by id. The id is the identity: a new id is a new schedule.",
    "cron": "When: five fields (minute, hour, day of month, month, day of week) or a macro such as "
    "@daily; {expr, fields} for seconds and years.",
    "every": "When: a step. PT5M is elapsed time; P1D, P2W, P1M, P1Y go by the calendar, from "
    "start on.",
    "rrule": "When: a rule of RFC 5545, daily or coarser, from start on.",
    "at": "When: a list of times.",
    "any": "When: the times of several triggers together.",
    "versions": "The times of the schedule with the dates from which they are in force, oldest "
    "first.",
    "effective_from": "From when on this version is in force; only the first may lack it.",
    "month_end": "What a step of months does where a month lacks the day: omit it, or take the day "
    "before or after.",
    "exdate": "Times of the rule that are left out.",
    "rdate": "Times beside the rule.",
    "calendars": "Business calendars by name.",
    "calendar": "The calendar whose business days count: a name, or one written out.",
    "roll": "Where a time on no business day goes: it is left out (none), or moves to the business "
    "day before (preceding) or after (following).",
    "except": "What is left out: dates, spans, the times of a cron or of a rule.",
    "dates": "Days that are left out, on the schedule's clock.",
    "between": "The start and the end of a span that is left out; the end itself is not in it.",
    "weekend": "The days of the week on which no business is done.",
    "exclude": "Dates on which no business is done.",
    "include": "Dates on which business is done all the same.",
    "holidays": "Public holidays that the holidays package knows.",
    "country": "The country by its two letters.",
    "subdivision": "The state or province by its code.",
    "dialect": "quartz: the fields and weekdays of Quartz, with ? and Sunday as 1.",
    "timezone": "A name of the IANA time zone data, such as Europe/Berlin.",
    "dst": "What becomes of a local time that the clock skips or repeats: a preset, or "
    "{gap, fold, wildcard}.",
    "day_rule": "How day of month and day of week combine. vixie: both must match if either field "
    "starts with *, else either; or: either, unless one is exactly *; and: both.",
    "start": "The first time at which something may be owed, itself included.",
    "end": "The time from which on nothing is owed any more.",
    "grace": "How long a key may be due without a record before it is missing.",
    "objective": "How long after its time an occurrence may stay unfinished.",
    "deadline": "How late a key may be enqueued as on time; later than that catchup decides.",
    "catchup": "What happens to keys that are later than the deadline.",
    "pause": "Spans of time in which nothing is owed.",
    "skip": "Keys of this schedule that are not owed.",
    "overlap": "What happens to a key while an earlier run is unfinished: allow both at once, skip "
    "it, let it wait (buffer_all; buffer_one: if none waits yet), or cancel_other.",
    "ordering_key": "Of one key at most one job runs at a time, the oldest first.",
    "splay": "Up to how much later than its time a job starts: a share of it that is always the "
    "same for one schedule. The key does not move.",
    "rate": "At which rate late keys that are caught up start.",
    "severity": "How urgent the alerts on the schedule are.",
    "team": "Who is told: a label of the alerts on the schedule.",
    "class": "What kind of work it is: a label of the alerts on the schedule.",
    "runbook": "The page that the alerts on the schedule name in place of ours.",
    "aliases": "Ids that the schedule had before; their history is carried on.",
    "managed_by": "The other scheduler that runs it: its runs are compared, never enqueued.",
    "matrix": "Parameters with their values: a run of its own, with a key of its own, for each "
    "combination.",
    "tzdata": "The version of the zone data that the file asks for, or >= the oldest that will do.",
    "job": "The job that an occurrence becomes.",
    "gap": "A time that the clock jumps over: skip it, shift it by the gap, or take the next "
    "instant after the gap.",
    "fold": "A time that the clock shows twice: the first instant, the second, or both.",
    "wildcard": "Which schedules run at every real slot, whatever gap and fold say. elapsed: those "
    "whose minute or hour starts with *; star: those whose hour is exactly *; same: none.",
    "policy": "Which late keys are enqueued; the others are recorded as omitted.",
    "window": "How far back a tick looks.",
    "max": "How many late keys one pass enqueues at most.",
    "order": "Which of the late keys come first.",
    "from": "The start of the pause, itself in it.",
    "to": "The end of the pause, itself after it; without it the pause lasts.",
    "reason": "Why, for those who ask later.",
    "expr": "The expression.",
    "fields": "5; 6s: seconds first; 6y: year last; 7: seconds first and year last.",
    "queue": "The queue that the job goes to.",
    "kind": "What names the handler; the schedule's id, if not given.",
    "command": "What `work --exec` runs: text for the shell, or a program and its arguments. The "
    "kind is then exec.",
    "payload": "A mapping for the handler.",
    "priority": "Smaller runs first; a step is worth a minute of waiting.",
    "tenant": "Whose job it is: the tenants of a queue take turns.",
    "schema_version": "The version of the payload; only workers that know it get the job.",
    "tenant_limit": "How many jobs of one tenant may be leased at a time.",
    "retention": "How long what has ended is kept.",
    "jobs": "How long finished jobs are kept.",
    "keys": "How long the keys of jobs that no schedule owes are kept; not shorter than jobs.",
    "receipts": "How long receipts of effects are kept; not shorter than keys.",
    "occurrences": "How long occurrences are kept one by one, if not for ever; not shorter than "
    "receipts, and longer than every catch-up window. Their numbers by day are kept for ever.",
    "max_attempts": "After how many failed attempts a job is a dead letter.",
    "timeout": "How long one attempt may take.",
    "lease": "For how long a worker holds a job before it must extend.",
    "retry_budget": "How many retries a minute the queue may have; at the top of the file: all "
    "queues together.",
    "budget_mode": "What becomes of a retry beyond the budget: it waits for a later minute "
    "(defer), or the job is dead.",
    "backoff": "How long a failed job waits.",
    "base": "The wait after the first failure, doubled with each one.",
    "cap": "The longest wait, before chance makes it up to half longer or shorter.",
    "queue.objective": "How long a job that may run should wait at most.",
}
EXAMPLES: Mapping[str, list[str]] = {
    "cron": ["0 2 * * *", "*/15 * * * *", "0 9 * * mon-fri", "0 18 LW * *", "@daily"],
    "every": ["PT5M", "P1D", "P1M"],
    "rrule": ["FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"],
    "country": ["DE", "US"],
    "skip": ["nightly-report:2026-12-25T01:30:00Z"],
}
