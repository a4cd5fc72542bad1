"""The settings of compression: what may stand there, and what is said of anything else."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_core.compaction.compactor import engine_of
from agent_core.errors import SettingsError
from agent_core.settings.model import Settings
from agent_core.settings.sections import CompressionPart
from tests.support.each import each
from tools.redaction import redact


def compression(**part):
    return Settings.model_validate({"compression": part}).compression


def test_without_settings_it_is_on_with_the_documented_values():
    assert compression() == CompressionPart(
        enabled=True, threshold=0.75, target_ratio=0.2, protect_first_n=1, protect_last_n=6, engine="compressor"
    )


@each(("name", "value"), [
    ("threshold", 0.1), ("threshold", 0.95), ("target_ratio", 0.05), ("target_ratio", 0.8), ("protect_first_n", 0),
    ("protect_first_n", 100), ("protect_last_n", 0), ("protect_last_n", 500), ("enabled", False),
])  # fmt: skip
def test_what_is_within_its_bounds_is_taken(name, value):
    assert getattr(compression(**{name: value}), name) == value


@each(("name", "value"), [
    ("threshold", 0.09), ("threshold", 0.96), ("threshold", float("nan")), ("threshold", float("inf")),
    ("threshold", "much"), ("target_ratio", 0.0), ("target_ratio", 0.81), ("protect_first_n", -1),
    ("protect_first_n", 101), ("protect_first_n", 1.5), ("protect_last_n", 501), ("enabled", "perhaps"),
    ("engine", 3),
])  # fmt: skip
def test_what_is_not_is_refused_with_its_name(name, value):
    with pytest.raises(ValidationError, match=name):
        compression(**{name: value})


@each(("written", "meant"), [("", "compressor"), ("  ", "compressor"), (None, "compressor"), (" mine ", "mine")])
def test_an_engine_without_a_name_is_the_usual_one(written, meant):
    assert compression(engine=written).engine == meant


def test_an_engine_that_there_is_not_is_told_with_those_that_there_are():
    with pytest.raises(SettingsError, match=r"'mine'.*compressor"):
        engine_of(compression(engine="mine"), "s", redact)
