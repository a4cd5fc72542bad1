"""Spans reach a collector where it is switched on; else nothing is loaded and nothing is sent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.config import ConfigSource, Overrides
from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.telemetry.exporting import Traces
from tests.support.collector import Collector
from tests.support.settings_files import configure


def traces(home: Path) -> Traces:
    return Traces(ConfigSource(Home(home), Overrides()).load)


def test_without_a_word_in_the_settings_nothing_is_loaded(home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agent_core.config import ConfigSource, Overrides;"
        "from agent_core.home import Home; from agent_core.telemetry.exporting import Traces;"
        f"print(Traces(ConfigSource(Home(Path({str(home)!r})), Overrides()).load).of_session(),"
        " 'opentelemetry' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout == "None False\n"


def test_a_turns_span_reaches_the_collector(home: Path) -> None:
    with Collector() as collector:
        configure(home, {"telemetry": {"enabled": True, "endpoint": collector.address}})
        made = traces(home)
        session = made.of_session()
        assert session is not None
        session.begin("s1", "t1").end(None, "end_turn", "")
        made.close()
        (span,) = collector.wait_for("invoke_agent hermes-acp")
    assert span.attributes["gen_ai.conversation.id"] == "s1"
    assert span.attributes["hermes.stop_reason"] == "end_turn"


def test_settings_that_cannot_be_read_cost_the_traces_alone(home: Path) -> None:
    configure(home, {"telemetry": {"enabled": True, "endpoint": "ftp://nowhere"}})
    with pytest.raises(SettingsError, match="http://"):
        ConfigSource(Home(home), Overrides()).load()
    assert traces(home).of_session() is None
