"""Which variables the user's list means."""

from tests.support.each import each
from tools.settings import Passthrough

_OWN = frozenset({"OPENAI_API_KEY"})


@each(
    ("names", "name", "passes"),
    [
        ((), "DEPLOY_TOKEN", False),
        (("DEPLOY_TOKEN",), "DEPLOY_TOKEN", True),
        (("DEPLOY_TOKEN",), "deploy_token", False),
        (("DEPLOY_TOKEN",), "DEPLOY_TOKEN_2", False),
        (("DEPLOY_*",), "DEPLOY_TOKEN", True),
        (("DEPLOY_*",), "MY_DEPLOY_TOKEN", False),
        (("*",), "DEPLOY_TOKEN", True),
        (("*", "OPENAI_*"), "OPENAI_API_KEY", False),
        (("*", "OPENAI_API_KEY"), "OPENAI_API_KEY", True),
        (("*", "HERMES_*"), "HERMES_HOME", False),
        (("*", "hermes_*"), "hermes_home", False),
        (("HERMES_HOME",), "HERMES_HOME", True),
    ],
)
def test_a_name_or_a_pattern_passes_variables_on_but_our_own_need_their_name(names, name, passes):
    assert Passthrough(names, _OWN).has(name) is passes
