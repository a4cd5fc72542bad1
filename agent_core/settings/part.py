"""What every part of the settings is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingsPart(BaseModel):
    """A part of the settings: immutable, and what it does not know is reported elsewhere, not refused."""

    # Inputs may be keys, and errors end up in logs.
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)
