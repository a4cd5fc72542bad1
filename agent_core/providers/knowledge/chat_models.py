"""Which models of a server's list can be talked to, as far as their names tell."""

from __future__ import annotations

import re

_OTHER_WORK = re.compile(
    r"""
    embed | rerank | moderation | guard | transcri | whisper | diffusion | dall-?e | imagen
    | (?:^|[-/_.:]) (?: tts | speech | image | images | video | audio | realtime | ocr | veo | sora | lyria | flux
      | aqa | bge | clip ) (?:[-/_.:\d]|$)
    | deep-research | computer-use | gpt-3\.5-turbo-instruct
    | (?:^|/) (?: babbage | davinci | chatgpt-image ) -
    """,
    re.VERBOSE | re.IGNORECASE,
)


def seems_to_chat(model: str) -> bool:
    """Whether a model of that name may be one that an agent can use.

    Those that make vectors, pictures, sound or films, that judge texts, or that are research services of their own
    cannot. A name that says nothing of the kind is believed.
    """
    return _OTHER_WORK.search(model) is None
