"""The table of points: each name stands for a place that is there, in a scene that is there."""

from __future__ import annotations

import importlib

from tests.faults.points import POINTS
from tests.faults.scenes import SCENES


def test_each_point_is_in_a_scene_and_names_a_function_of_ours() -> None:
    assert {point.scene for point in POINTS.values()} == SCENES.keys()
    assert len(POINTS) >= 30
    for name, point in POINTS.items():
        module, _, function = point.fault.seam.partition(":")
        if function:
            owner: object = importlib.import_module(module)
            for part in function.split("."):
                owner = getattr(owner, part)
            assert callable(owner), name
