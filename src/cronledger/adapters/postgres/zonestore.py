"""The rules of clocks that versions were opened with, kept in the ledger and read once each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cronledger.adapters.postgres.session import Session
from cronledger.core.instants import Zone

# A zone by its name and the version of the zone data.
ZoneKey = tuple[str, str]


class ZoneStore:
    """Reads what `keep` wrote. A version of the zone data never changes, so each is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[ZoneKey, Zone] = {}

    def zones(self, wanted: Iterable[ZoneKey]) -> Mapping[ZoneKey, Zone]:
        """At least the zones wanted, as far as they are kept."""
        missing = sorted({key for key in wanted if key not in self._known})
        if missing:
            names, tzdata = zip(*missing, strict=True)
            for row in self._session.run("zones", {"names": list(names), "tzdata": list(tzdata)}):
                zone = Zone(
                    row["name"], row["tzdata"], tuple(row["transitions"]), tuple(row["offsets"])
                )
                self._known[zone.name, zone.version] = zone
        return self._known


def keep(session: Session, zones: Iterable[Zone]) -> None:
    """Keep the rules of these zones, in the transaction that opens versions by them."""
    for zone in sorted(set(zones), key=lambda zone: zone.name):
        session.run(
            "add_zone",
            {
                "name": zone.name,
                "tzdata": zone.version,
                "transitions": list(zone.transitions),
                "offsets": list(zone.offsets),
            },
        )
