"""Pydantic models that are built at their first use: a protocol's SDK has hundreds, and a session needs a dozen."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pydantic


@contextmanager
def light_models() -> Iterator[None]:
    """Models that are defined meanwhile have no docstrings of fields, and are built at their first use.

    Several threads may load SDKs at once: then some models of one are built at once, as without this.
    """
    found = pydantic.ConfigDict
    usual = getattr(found, "__wrapped__", found)

    def light(**config: Any) -> pydantic.ConfigDict:
        config.pop("use_attribute_docstrings", None)
        made: pydantic.ConfigDict = usual(**{"defer_build": True, **config})
        return made

    roots = pydantic.RootModel.model_config
    vars(pydantic)["ConfigDict"] = functools.update_wrapper(light, usual, assigned=(), updated=())
    # `RootModel[X]` is a model of its own, made before its subclass has a configuration: it takes this one.
    roots["defer_build"] = True
    try:
        yield
    finally:
        vars(pydantic)["ConfigDict"] = usual
        roots.pop("defer_build", None)
