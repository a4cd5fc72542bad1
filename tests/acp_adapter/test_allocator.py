from __future__ import annotations

import ctypes
import platform

import pytest

from acp_adapter.process import share_arenas


def test_glibc_is_told_and_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert share_arenas() is (platform.libc_ver()[0] == "glibc")

    def without(_: object) -> object:
        return object()  # as on macOS: a C library that has no such function

    monkeypatch.setattr(ctypes, "CDLL", without)
    assert not share_arenas()


def test_where_there_is_no_library_to_ask_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> object:
        raise TypeError("bad argument type for built-in operation")  # Windows has no library of the process itself

    monkeypatch.setattr(ctypes, "CDLL", fails)
    assert not share_arenas()
