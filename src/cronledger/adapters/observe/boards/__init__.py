"""The dashboards, by the name of their file; `cronledger export dashboards` writes them.

Every description says what to do when the panel is not as it should be.
"""

from __future__ import annotations

from collections.abc import Mapping

from cronledger.adapters.observe.boards.overview import overview
from cronledger.adapters.observe.boards.queues import queues
from cronledger.adapters.observe.boards.reconcile import reconcile
from cronledger.adapters.observe.boards.schedule import schedule
from cronledger.adapters.observe.panels import to_json


def boards() -> Mapping[str, str]:
    """Each file's text, by its name."""
    made = {"overview": overview, "schedule": schedule, "queues": queues, "reconcile": reconcile}
    return {f"{name}.json": to_json(make()) for name, make in made.items()}
