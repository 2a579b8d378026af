"""What the words in the window mean: `explained` finds the sentence for what stands on the screen."""

from __future__ import annotations

import re

from ecs_rl.viewer.number_formats import NOTHING
from ecs_rl.viewer.panel_list import PANELS

PLAYERS: dict[str, str] = {
    "policy": "What was learned: a function from what is seen to what is done.",
    "best actions": "Greedy: the policy does what it thinks best, as in evaluations; D draws its actions at random.",
    "sampled actions": "Actions are drawn at random with the policy's own probabilities, as in training.",
    "greedy": "The policy does what it thinks best every time, without trying anything.",
    "you drive": "Your keys decide in place of the policy; this episode does not count for it.",
    "race": "You and the policy play the same seed side by side.",
    "before and after": "The untrained policy and the present one on the same seed.",
    "paused": "The stage stands still; the training does not.",
    "turbo": "Four pictures a second, so that the training has nearly all of the machine.",
    "recording": "A film of the window is being written; it shows neither this sign nor messages.",
}
"""Who plays, as the stage and the panes say it."""
_ALL = PLAYERS | {text: sentence for panel in PANELS for text, sentence in panel.words.items()}
WORDS = {text: sentence for text, sentence in _ALL.items() if not text.isupper()}
STATES = {text: sentence for text, sentence in _ALL.items() if text.isupper()}
"""Signs in capitals that say what the program does. A sign may go on, as `AT 1x`."""
ALIKE = {"really": "really came", "losses": "loss", "greedy or sampled": "greedy", "policies": "policy"}


def explained(text: str) -> str:
    """Return the sentence for words on the screen, '' for words that need none: by all of them, or by their end."""
    state = max((sign for sign in STATES if text.startswith(sign)), key=len, default="")
    if state:
        return STATES[state]
    plain = re.sub(r"[^a-z/;, ]", " ", text.lower()).strip()
    plain = re.sub(r" +", " ", plain)
    for name in (plain, ALIKE.get(plain, "")):
        if name in WORDS:
            return WORDS[name]
    words = plain.split(" ")
    ends = (" ".join(words[i:]) for i in range(1, len(words)))
    starts = (" ".join(words[:i]) for i in range(len(words) - 1, 0, -1))
    return next((WORDS[each] for each in (*ends, *starts) if each in WORDS), "") if text != NOTHING else ""
