"""A workspace as a call finds it: what is saved, and what the person has typed and not saved. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.model.calls import Call, Files


@dataclass(frozen=True, slots=True)
class Ground:
    """One moment.

    Attributes:
        files: what is saved.
        unsaved: other text of some paths, in the editor.
        was, made: of each file that calls have changed so far, what they found and what they left; None for no file.
    """

    files: Files
    unsaved: Files = field(default_factory=dict)
    was: dict[str, str | None] = field(default_factory=dict)
    made: dict[str, str | None] = field(default_factory=dict)

    @property
    def seen(self) -> dict[str, str]:
        """What a call reads: the editor's text, of files that are saved at all."""
        return {path: self.unsaved.get(path, text) for path, text in self.files.items()}

    def after(self, call: Call) -> Ground | None:
        """Once it was done; None where it cannot be done.

        What is written goes to the editor, in place of what was not saved; but not a new file: of that the editor may
        have text that was never saved. A command changes what is saved, whatever the editor has.
        """
        seen, path = self.seen, call.path
        now = call.after(seen)
        if now is None:
            return None
        if now == seen:
            return self
        files, unsaved = dict(self.files), dict(self.unsaved)
        found = files.pop(path, None)
        if path in now:
            files[path] = now[path]
            found = None if found is None else unsaved.pop(path, found)
        return Ground(files, unsaved, {path: found, **self.was}, {**self.made, path: files.get(path)})

    def typed(self, path: str, text: str, *, is_saved: bool) -> Ground:
        """Once the person has given a file this text."""
        if is_saved:
            return replace(self, files={**self.files, path: text})
        return replace(self, unsaved={**self.unsaved, path: text})
