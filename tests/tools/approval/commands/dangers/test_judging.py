"""What holds for commands of any family: long ones, looks into pods, scripts with half a name."""

from pathlib import Path

from tests.support.each import each
from tests.tools.approval.commands.dangers.scene import PROJECT, SCENE, families
from tools.approval.commands import classify_command
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.classification import findings_in

_LONG = 1_000


def _whys(command):
    return {finding.why for finding in findings_in(read_command(command, PROJECT), SCENE)}


def test_behind_a_thousand_characters_of_an_argument_nothing_is_believed():
    (one,) = findings_in(read_command(f"rm -rf {'x/' * 495}build", PROJECT), SCENE)
    (other,) = findings_in(read_command(f"rm -rf {'x/' * 500}build", PROJECT), SCENE)

    assert one.undoable
    assert not other.undoable


@each(
    ("argument", "is_too_long"),
    [
        ("../".ljust(_LONG, "x"), False),
        ("../".ljust(_LONG + 1, "x"), True),
        ("x" * (_LONG + 1), False),
        ("'" + "x..\n" * _LONG + "'", False),
        ("'" + "x\n" * _LONG + "'", False),
    ],
)
def test_a_long_path_that_leads_upwards_cannot_be_read_but_long_text_can(argument, is_too_long):
    assert ("is too long or too nested to be read" in _whys(f"ls {argument}")) is is_too_long


def test_what_is_elsewhere_in_a_command_with_a_look_into_a_pod_is_judged():
    assert families("kubectl exec web-0 -- ls; rm a") == {"deletion"}
    assert families("docker exec web ls && kubectl exec web-0 -- sh -c 'ls; ls'") == families("docker exec web ls")


@each("root", ["/home/dev/build", "/home/dev/target/app", "/srv/a.egg-info"])
def test_only_what_is_below_the_session_s_directory_makes_a_deletion_undoable(root):
    (one,) = classify_command("rm -rf src", Path(root), (Path(root),)).findings
    (other,) = classify_command("rm -rf lib/dist", Path(root), (Path(root),)).findings

    assert not one.undoable
    assert other.undoable


@each(
    ("command", "secrets"),
    [
        ("cat .env", {".env"}),
        ("cat a.txt .env config/server.key", {".env", "config/server.key"}),
        ("cd config && cp ../x .env", {"config/.env"}),
        ("sh -c 'rm .env'", {".env"}),
        ("python3 -c 'print(open(\".env\").read())'", {".env"}),
        ("base64 < .env", {".env"}),
        ("git rm a && git rm .env", {".env"}),
        ("chmod 600 .env; . ./.env.local", {".env"}),
        ("rm -rf build; node --env-file .env x.js", set()),
        ("rm -rf build; . ./.env", set()),
        ("cat .env*", set()),
        ('cat "$X.env"', set()),
        ("cat .env.example", set()),
    ],
)
def test_what_a_command_is_asked_about_knows_the_secret_files_that_it_is_given(command, secrets):
    found = classify_command(command, Path("/srv/x"), (Path("/srv/x"),))
    assert found.secrets == {Path("/srv/x", name) for name in secrets}
