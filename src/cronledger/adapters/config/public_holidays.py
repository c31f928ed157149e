"""The public holidays of a country as plain dates, from the `holidays` package if it is there."""

from __future__ import annotations

import warnings
from datetime import date
from types import ModuleType

# A stored schedule holds its dates, so their number is bounded; docs/schedules.md says so.
FIRST_YEAR = 2020
LAST_YEAR = 2069

_INSTALL = "pip install 'cronledger[holidays]'"


def public_holidays(country: str, subdivision: str | None) -> list[date]:
    """The holidays from `FIRST_YEAR` to `LAST_YEAR`, ascending; fewer where the package ends.

    Raises ValueError, to be shown as it stands, for an unknown place or without the package.
    """
    package = _package()
    subdivisions = package.list_supported_countries(include_aliases=True).get(country)
    if subdivisions is None:
        raise ValueError(f"no holidays are known of the country {country!r}; write 'exclude'")
    if subdivision is not None and subdivision not in subdivisions:
        known = ", ".join(subdivisions[:20]) or "none"
        raise ValueError(f"{country} has no subdivision {subdivision!r}; known are {known}")
    years = range(FIRST_YEAR, LAST_YEAR + 1)
    with warnings.catch_warnings():
        # Of some countries it knows fewer years, and says so as a warning.
        warnings.simplefilter("ignore")
        found = package.country_holidays(country, subdiv=subdivision, years=years)
    return sorted(day for day in found if FIRST_YEAR <= day.year <= LAST_YEAR)


def _package() -> ModuleType:
    try:
        import holidays  # noqa: PLC0415  # optional, so imported when asked for
    except ImportError:
        message = (
            f"the holidays of countries come with an extra; run {_INSTALL}, or write 'exclude'"
        )
        raise ValueError(message) from None
    return holidays
