"""The demo's project: a module with a bug, a test that fails because of it, and the steps that find and fix it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tools.environments.child_env import bare_environment

_MODULE = '''\
"""What a basket of goods costs."""


def total(prices: list[float], discount_percent: float = 0) -> float:
    """The sum of the prices, less the discount."""
    return sum(prices) - discount_percent
'''

_TEST = '''\
"""What `basket` promises."""

import unittest

from basket import total


class TotalTest(unittest.TestCase):
    def test_without_a_discount_it_is_the_sum(self) -> None:
        self.assertEqual(total([10, 30]), 40)

    def test_a_discount_takes_its_percentage_off(self) -> None:
        self.assertEqual(total([10, 30], discount_percent=25), 30)
'''

_STEPS = ("Find the bug", "Fix the discount", "Run the tests again")
_TEST_COMMAND = (sys.executable, "-m", "unittest", "-q")


def make_project(directory: Path) -> None:
    """Write the project's files into `directory`."""
    (directory / "basket.py").write_text(_MODULE)
    (directory / "test_basket.py").write_text(_TEST)


def run_tests(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the project's tests in a process of their own."""
    return subprocess.run(
        _TEST_COMMAND,
        cwd=directory,
        env=bare_environment(os.environ),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def script() -> str:
    """The prompt for the offline provider, a step a line."""
    test = shlex.join(_TEST_COMMAND)
    return f"""\
think A test of this project fails. I run it first, to see how.
run {test}
say The discount is wrong: 25 percent off 40 should be 30. I look for where it is taken off.
{_plan(done=0)}
search discount_percent
parallel
read basket.py
read test_basket.py
end
say `total` subtracts the percentage as if it were an amount. It has to be taken of the sum.
{_plan(done=1)}
edit basket.py sum(prices) - discount_percent => sum(prices) * (1 - discount_percent / 100)
{_plan(done=2)}
run {test}
{_plan(done=3)}
say Fixed: `total` in basket.py now takes the discount as a percentage of the sum, and both tests pass.
"""


def _plan(done: int) -> str:
    todos = [
        {
            "id": str(number + 1),
            "content": step,
            "status": "completed" if number < done else "in_progress" if number == done else "pending",
        }
        for number, step in enumerate(_STEPS)
    ]
    return f"call todo {json.dumps({'todos': todos})}"
