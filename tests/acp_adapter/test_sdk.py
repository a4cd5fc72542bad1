"""The protocol's SDK is loaded light, and is the same SDK."""

import subprocess
import sys

import pydantic

from acp_adapter import sdk


def test_models_are_built_at_their_first_use_and_no_source_is_read_for_them() -> None:
    program = (
        "import inspect\n"
        "inspect.getsource = inspect.getsourcelines = None\n"
        "import acp_adapter.sdk\n"
        "from acp.schema import PromptRequest\n"
        "print(PromptRequest.__pydantic_complete__)\n"
        "read = PromptRequest.model_validate({'sessionId': 's', 'prompt': [{'type': 'text', 'text': 'x'}]})\n"
        "print(type(read.prompt[0]).__name__, PromptRequest.__pydantic_complete__)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "TextContentBlock", "True"]


def test_what_others_define_is_as_they_say() -> None:
    assert sdk.TextContentBlock.__module__ == "acp.schema"
    assert "defer_build" not in pydantic.ConfigDict(use_attribute_docstrings=True)
