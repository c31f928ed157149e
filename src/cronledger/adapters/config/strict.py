"""What every mapping of the file has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A mapping of the file: no key beyond those named."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
