"""What the words in the window mean: the sentence for what stands on the screen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ecs_rl.viewer.number_formats import NOTHING
from ecs_rl.viewer.panel import Panel

ALIKE = {"really": "really came", "losses": "loss", "greedy or sampled": "greedy", "policies": "policy"}


class Words:
    """The words of some panels, with a sentence for each."""

    def __init__(self, panels: Iterable[Panel[Any] | type[Panel[Any]]]) -> None:
        known = {text: sentence for panel in panels for text, sentence in panel.words.items()}
        self.plain = {text: sentence for text, sentence in known.items() if not text.isupper()}
        self.states = {text: sentence for text, sentence in known.items() if text.isupper()}
        """Signs in capitals that say what the program does. A sign may go on, as `AT 1x`."""

    def explained(self, text: str) -> str:
        """Return the sentence for words on the screen, '' for words that need none: by all of them, or by their end."""
        state = max((sign for sign in self.states if text.startswith(sign)), key=len, default="")
        if state:
            return self.states[state]
        plain = re.sub(r"[^a-z/;, ]", " ", text.lower()).strip()
        plain = re.sub(r" +", " ", plain)
        for name in (plain, ALIKE.get(plain, "")):
            if name in self.plain:
                return self.plain[name]
        if text == NOTHING:
            return ""
        words = plain.split(" ")
        ends = (" ".join(words[i:]) for i in range(1, len(words)))
        starts = (" ".join(words[:i]) for i in range(len(words) - 1, 0, -1))
        return next((self.plain[part] for part in (*ends, *starts) if part in self.plain), "")
