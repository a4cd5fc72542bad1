"""What a user can set about the system prompt: a part of `config.yaml`."""

from __future__ import annotations

from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agent_core.prompt.context_files.names import DEFAULT_NAMES


class ContextFilesPart(BaseModel):
    """Rules files, which tell the model how to work in a project."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    enabled: bool = Field(True, description="Tell the model what they say.")
    max_chars: int | None = Field(
        None, ge=1_000, description="Characters of one file, at most; empty: by the model's window."
    )
    names: tuple[str, ...] = Field(
        DEFAULT_NAMES, description="Which files are looked for; of a directory the first counts."
    )

    @field_validator("names")
    @classmethod
    def _inside(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            path = PurePosixPath(name)
            if not path.parts or path.is_absolute() or ".." in path.parts or not name.isprintable():
                raise ValueError("each must be the name of a file in the directory, as AGENTS.md")
        return names
