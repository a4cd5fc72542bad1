"""The paths of a call, known before it runs."""

from __future__ import annotations

import tools.patch
from tests.support.each import each
from tools.patching.v4a import paths_of
from tools.registry import registry


@each(
    ("arguments", "paths"),
    [
        ({"path": "a", "old_string": "x", "new_string": "y"}, ["a"]),
        ({"patch": "*** Update File: a\n*** Move to: d/b\n@@\n-x\n*** Add File: c\n+*** Add File: no\n"},
         ["a", "d/b", "c"]),
        ({"patch": "  *** delete file: `a b`\r\n*** End Patch"}, ["a b"]),
        ({"path": "a", "patch": "@@\n-x\n+y"}, ["a"]),
        ({"patch": "--- a/x.py\t2020\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/y"}, ["x.py", "y"]),
        ({"path": 3, "patch": None}, []),
        ({}, []),
    ],
)  # fmt: skip
def test_every_path_is_found_once_and_in_order(arguments: dict[str, object], paths: list[str]):
    assert paths_of(arguments) == paths


def test_the_registry_can_ask_for_them():
    entry = registry.get("patch")
    assert entry is not None
    assert entry.paths_fn is paths_of
    assert tools.patch.SCHEMA is entry.schema
