"""What is wrong in the settings is told with its place."""

from acp_adapter.cli.doctor.configuration import check_settings


def told(case):
    return [(finding.state, finding.text) for finding in check_settings(case)]


def test_no_settings_are_well(case):
    (finding,) = check_settings(case())
    assert finding.state == "ok"
    assert "the defaults count" in finding.text


def test_a_wrong_value_is_told_with_file_line_and_column(case, home):
    (home / "config.yaml").write_text("# mine\nagent:\n  max_turns: many\n")
    (finding,) = check_settings(case())
    assert finding.state == "fail"
    assert finding.text.startswith(f"{home}/config.yaml:3:14: agent.max_turns = 'many'")


def test_what_is_no_yaml_is_told_with_its_place(case, home):
    (home / "config.yaml").write_text("model:\n  default: [x\nagent: {}\n")
    (finding,) = check_settings(case())
    assert (finding.state, f"{home}/config.yaml:3:" in finding.text) == ("fail", True)
    assert "not valid YAML" in finding.text


def test_a_file_that_cannot_be_read_has_no_line_and_another_step(case, home):
    (home / "config.yaml").mkdir()
    (finding,) = check_settings(case())
    assert (finding.state, finding.text.startswith(f"{home}/config.yaml: ")) == ("fail", True)
    assert "Make it readable" in finding.fix


def test_an_unknown_key_is_a_warning_with_its_place_and_what_was_meant(case, home):
    (home / "config.yaml").write_text("sandbox:\n  levle: read-only\n")
    warned, well = check_settings(case())
    assert warned.state == "warn"
    assert f"{home}/config.yaml:2:3: sandbox.levle" in warned.text
    assert warned.fix.startswith("Write level")
    assert well.state == "ok"


def test_many_keys_of_another_program_are_one_line(case, home):
    (home / "config.yaml").write_text("tts: 1\ndisplay: 2\nquick_commands: 3\nx_y: 4\n")
    assert [finding.state for finding in check_settings(case())] == ["warn", "ok"]


def test_a_key_that_stands_there_twice_is_told(case, home):
    (home / "config.yaml").write_text("agent:\n  max_turns: 3\nagent:\n  max_turns: 4\n")
    (warned, text), (well, _) = told(case())
    assert (warned, f"{home}/config.yaml:3:1: " in text, well) == ("warn", True, "ok")


def test_lines_of_env_that_are_none_are_told_without_what_they_hold(case, home):
    (home / ".env").write_text("A=1\n\nsk-secret-1234567890\n")
    warned, _ = check_settings(case())
    assert (warned.state, f"{home}/.env:3:" in warned.text) == ("warn", True)
    assert "sk-secret" not in warned.text + warned.fix


def test_a_misspelt_key_of_a_model_servers_entry_is_told_with_its_place_and_what_was_meant(case, home):
    (home / "config.yaml").write_text("providers:\n  mine: {base_url: http://127.0.0.1/v1, context_lenght: 5}\n")
    warned, _ = check_settings(case())
    assert (warned.state, "config.yaml:2:41: " in warned.text) == ("warn", True)
    assert "providers.mine.context_lenght is not a setting" in warned.text
    assert "Write context_length" in warned.fix
