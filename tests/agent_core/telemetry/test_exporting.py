"""Spans reach a collector where it is switched on; else nothing is loaded and nothing is sent."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_core.config import ConfigSource, Overrides
from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.telemetry.exporter import Traces
from tests.support.collector import Collector
from tests.support.settings_files import configure


def traces(home: Path) -> Traces:
    return Traces(ConfigSource(Home(home), Overrides()).load)


def test_without_a_word_in_the_settings_nothing_is_loaded(home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agent_core.config import ConfigSource, Overrides;"
        "from agent_core.home import Home; from agent_core.telemetry.exporter import Traces;"
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
        session.begin("s1", "t1").end(None, "end_turn", None)
        made.close()
        (span,) = collector.wait_for("invoke_agent hermes-acp")
    assert span.attributes["gen_ai.conversation.id"] == "s1"
    assert span.attributes["hermes.stop_reason"] == "end_turn"


def test_a_collector_that_never_answers_holds_no_exit_up(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configure(home, {"telemetry": {"enabled": True, "endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}"}})
        made = traces(home)
        session = made.of_session()
        assert session is not None
        session.begin("s1", "t1").end(None, "end_turn", None)
        closing = threading.Thread(target=made.close)
        closing.start()
        connection, _ = silent.accept()
        with connection:  # it is asked, keeps the connection, and says nothing for as long as this block lasts
            closing.join(4.0)  # the exporter would wait five seconds for each of its tries
            assert not closing.is_alive()
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            for thread in threading.enumerate():
                if thread.name == "traces-flush":
                    thread.join(10)


def test_settings_that_cannot_be_read_cost_the_traces_alone(home: Path) -> None:
    configure(home, {"telemetry": {"enabled": True, "endpoint": "ftp://nowhere"}})
    with pytest.raises(SettingsError, match="http://"):
        ConfigSource(Home(home), Overrides()).load()
    assert traces(home).of_session() is None
