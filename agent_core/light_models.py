"""Pydantic models that are built at their first use: a protocol's SDK has hundreds, and a session needs a dozen."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pydantic

_lock = threading.Lock()
# The threads that load SDKs, each as often as it is within a block.
_loading: list[int] = []


@contextmanager
def light_models() -> Iterator[None]:
    """Models that this thread defines meanwhile have no docstrings of fields, and are built at their first use.

    Those of other threads are as they say, but for `RootModel[X]`, which is built at its first use, too.
    """
    thread = threading.get_ident()
    with _lock:
        if not _loading:
            _begin()
        _loading.append(thread)
    try:
        yield
    finally:
        with _lock:
            _loading.remove(thread)
            if not _loading:
                _end()


def _begin() -> None:
    usual = pydantic.ConfigDict

    def light(**config: Any) -> pydantic.ConfigDict:
        if threading.get_ident() not in _loading:
            return usual(**config)
        config.pop("use_attribute_docstrings", None)
        made: pydantic.ConfigDict = usual(**{"defer_build": True, **config})
        return made

    vars(pydantic)["ConfigDict"] = functools.update_wrapper(light, usual, assigned=(), updated=())
    # `RootModel[X]` is a model of its own, made before its subclass has a configuration: it takes this one.
    pydantic.RootModel.model_config["defer_build"] = True


def _end() -> None:
    vars(pydantic)["ConfigDict"] = vars(pydantic.ConfigDict)["__wrapped__"]
    pydantic.RootModel.model_config.pop("defer_build", None)
