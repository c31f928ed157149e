"""The command line as a whole: its options, its commands, and what each error exits with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cronledger.cli import (
    backdate,
    backfill,
    check,
    chunks,
    dead,
    demo,
    diff,
    doctor,
    effects,
    explain,
    export,
    imports,
    ledger,
    prune,
    queue,
    reconcile,
    render,
    schedules,
    service,
    status,
    trigger,
)
from cronledger.cli.options import Context
from cronledger.errors import CronledgerError

INTERRUPTED = 130
EPILOG = (
    "Exit codes: 0 fine; 1 the answer is no (gaps, findings); 2 usage or an invalid file; "
    "3 could not answer; 4 refused; 130 interrupted."
)


def _version(asked: bool) -> None:
    if asked:
        from cronledger import wiring

        render.say(f"cronledger {wiring.version()}")
        raise typer.Exit


def build() -> typer.Typer:
    """The application with all its commands."""
    app = typer.Typer(
        name="cronledger",
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog=EPILOG,
    )
    app.callback()(options)
    app.command()(schedules.init)
    app.command()(check.check)
    app.command("next")(schedules.next_)
    app.command()(schedules.expand)
    app.command()(diff.diff)
    app.command()(explain.explain)
    app.command("import")(imports.import_)
    app.command()(ledger.migrate)
    app.command()(service.run)
    app.command()(ledger.tick)
    app.command()(status.status)
    app.command()(reconcile.reconcile)
    app.command()(backfill.backfill)
    app.command()(prune.prune)
    app.command()(doctor.doctor)
    app.command()(backdate.backdate)
    app.command()(trigger.trigger)
    app.command()(service.work)
    app.command()(demo.demo)
    app.add_typer(chunks.jobs, name="jobs")  # with the commands of both
    app.add_typer(dead.dead, name="dead")
    app.add_typer(effects.effects, name="effects")
    app.add_typer(queue.queue, name="queue")
    app.add_typer(queue.audit, name="audit")
    app.add_typer(export.export, name="export")
    return app


def options(
    ctx: typer.Context,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            help="URL, or `embedded`; else CRONLEDGER_DATABASE_URL, DATABASE_URL, libpq's own.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="The schedule file of commands without FILE.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """The durable record is the source of truth; cron is only the clock."""
    assert not version, "answered by its callback"
    ctx.obj = Context(database, config)


def main() -> None:
    """Run the command line; exits with the code that the brief of exit codes names."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code. Every expected error is one clear message."""
    try:
        code = build()(arguments, standalone_mode=False)
    except typer.TyperException as error:  # how typer says what is wrong with the arguments
        render.tell(_usage(error))
        return error.exit_code
    except CronledgerError as error:
        render.tell(str(error))
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our stdout has left; there is nobody to tell.
        sys.stdout = None  # keeps the exit from flushing it
        return 0
    return code if isinstance(code, int) else 0


def _usage(error: typer.TyperException) -> str:
    """What is wrong with the arguments, and the command whose help says what to write."""
    said = error.format_message()
    if "\n" in said:
        return said  # no command was given: the help itself
    place = getattr(error, "ctx", None)
    return f"{said.rstrip('.')}; see {place.command_path} --help" if place else said
