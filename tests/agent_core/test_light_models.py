"""Models of SDKs are light while they are loaded, and everybody else's are as they say."""

import threading

import pydantic

from agent_core.light_models import light_models


def test_models_that_are_defined_meanwhile_are_built_at_their_first_use() -> None:
    with light_models():

        class Light(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(use_attribute_docstrings=True, frozen=True)
            name: str

    assert not Light.__pydantic_complete__
    assert Light.model_config == {"defer_build": True, "frozen": True}
    assert Light(name="x").name == "x"
    assert Light.__pydantic_complete__
    assert pydantic.ConfigDict(use_attribute_docstrings=True) == {"use_attribute_docstrings": True}


def test_loads_that_overlap_leave_nothing_behind() -> None:
    usual = pydantic.ConfigDict
    one, other = light_models(), light_models()
    one.__enter__()
    other.__enter__()
    assert pydantic.ConfigDict() == {"defer_build": True}
    one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert pydantic.ConfigDict is usual


def test_what_another_thread_defines_meanwhile_is_as_it_says() -> None:
    made: list[type[pydantic.BaseModel]] = []

    def define() -> None:
        class Other(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(use_attribute_docstrings=True)
            name: str

        made.append(Other)

    with light_models():
        thread = threading.Thread(target=define)
        thread.start()
        thread.join()
    assert made[0].__pydantic_complete__
    assert made[0].model_config == {"use_attribute_docstrings": True}


def test_a_model_around_one_value_is_built_at_its_first_use_too() -> None:
    with light_models():

        class Around(pydantic.RootModel[int | list[str]]):
            model_config = pydantic.ConfigDict()

    assert not any(kind.__pydantic_complete__ for kind in Around.__mro__[:2] if issubclass(kind, pydantic.RootModel))
    assert Around(["x"]).root == ["x"]
    assert "defer_build" not in pydantic.RootModel.model_config
    assert pydantic.RootModel[dict[str, int]].__pydantic_complete__
