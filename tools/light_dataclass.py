"""`dataclass` as the standard library's, for a tenth of its price: the package has some seven hundred of them.

The standard decorator writes the source of six methods for each class and compiles it, which was a quarter of all
work from the start to the first text (docs/decisions/0018-light-dataclasses.md). Here a class gets its fields and
slots from the standard decorator; the methods that need no source are closures, and `__init__` is compiled when the
first instance is made: most classes that are loaded have none.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
    ) -> type | Callable[[type], type]:
        """`dataclasses.dataclass`, as far as this package uses it; `fields`, `replace` and `asdict` work as ever."""
        if cls is None:
            return lambda found: _made(found, frozen, slots, eq)
        return _made(cls, frozen, slots, eq)


def _made(cls: type, frozen: bool, slots: bool, eq: bool) -> type:
    # A class that has its own `__eq__` has `__hash__ = None` from the language, which is not its own word.
    own = {name for name, value in vars(cls).items() if name != "__hash__" or value is not None}
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # or the standard decorator would work a signature out
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    found = dataclasses.fields(made)
    names = [each.name for each in found]
    methods = {"__init__": _first_init(made, found, frozen), "__repr__": _repr_of(found)}
    if eq:
        methods |= _comparing([each.name for each in found if each.compare], frozen)
    if frozen:
        methods |= _frozen(made, names)
        if slots:
            methods |= {"__getstate__": _state_of(names), "__setstate__": _restoring(names)}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


def complete_all() -> None:
    """Compile every `__init__` that waits for its first instance: whoever has time does it before somebody waits."""
    while _waiting:
        _waiting.pop()()


_waiting: list[Callable[[], object]] = []


def _first_init(cls: type, found: tuple[Field[Any], ...], frozen: bool) -> Callable[..., None]:
    def complete() -> Callable[..., None]:
        real = _compiled_init(cls, found, frozen)
        cls.__init__ = real  # type: ignore[misc] # this is what takes the place of the one below
        return real

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - a method in the making
        complete()(self, *args, **kwargs)

    _waiting.append(complete)
    return __init__


def _compiled_init(cls: type, found: tuple[Field[Any], ...], frozen: bool) -> Callable[..., None]:
    """The method that sets every field, as the standard decorator writes it."""
    known: dict[str, Any] = {"_missing_": MISSING, "_set_": object.__setattr__}
    plain: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for each in found:
        name, value = each.name, each.name
        default = ""
        if each.default_factory is not MISSING:
            known[f"_make_{name}_"] = each.default_factory
            default, value = "=_missing_", f"_make_{name}_() if {name} is _missing_ else {name}"
        elif each.default is not MISSING:
            known[f"_default_{name}_"] = each.default
            default = f"=_default_{name}_"
        if each.init:
            (named if each.kw_only else plain).append(name + default)
        elif default:
            value = f"_make_{name}_()" if each.default_factory is not MISSING else f"_default_{name}_"
        else:
            continue
        body.append(f" _set_(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    exec("\n".join([f"def __init__({parameters}):", *body, " pass"]), known)  # noqa: S102 - names of fields only
    method: Callable[..., None] = known["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__module__ = cls.__module__
    return method


def _repr_of(found: tuple[Field[Any], ...]) -> Callable[[Any], str]:
    shown = [each.name for each in found if each.repr]

    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return __repr__


def _comparing(names: list[str], frozen: bool) -> dict[str, Any]:
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _frozen(cls: type, names: list[str]) -> dict[str, Any]:
    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state_of(names: list[str]) -> Callable[[Any], list[Any]]:
    return lambda self: [getattr(self, name) for name in names]


def _restoring(names: list[str]) -> Callable[[Any, list[Any]], None]:
    def __setstate__(self: Any, state: list[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return __setstate__
