"""What the words in the window mean, one sentence each; `explained` finds them in what stands on the screen."""

from __future__ import annotations

import re

from ecs_rl.viewer.number_formats import NOTHING

WORDS: dict[str, str] = {
    # the agent's mind
    "sees": "The observation: the scaled numbers that the policy was given for the decision that led to this picture.",
    "does": "The action: what the policy decides in each tick, from nothing but what it sees.",
    "expects": "The value: how much reward the agent expects from here on, later reward counted less.",
    "earned": "The reward: what the scene pays or fines by name, in this tick and in this episode.",
    "probability": "How likely the policy is to choose each option; the arrow marks the one that it took.",
    "value": "The reward that the agent expects if it takes this option now, later reward counted less.",
    "lever": "A number from -1 to 1; the dot is what was set, the band how far it varies around its mean.",
    "expected": "What the agent expected to earn from that tick on.",
    "really came": "The reward that really followed, later reward counted less; unknown until the episode goes on.",
    "tick": "One decision; the numbers of this column are of the newest one.",
    "episode": "One play from a start to an end; the numbers of this column are its sum so far.",
    "total": "The sum of all rewards: the return, once the episode is over.",
    # who plays
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
    # how learning goes
    "return": "The sum of all rewards of an episode; the line is the mean of the last hundred in training.",
    "score": "What the scene itself counts, such as coins or laps; evaluations go by it.",
    "training": "Episodes played while learning, with actions drawn at random; the band is their standard deviation.",
    "evaluation": "The mean of episodes with the best actions on seeds that never change: how good the policy is.",
    "lesson": "How far the task has grown that training plays; evaluations and the stage have the full one.",
    "best": "The best evaluation so far; its policy is kept as `best`.",
    "solved": "An evaluation has reached the number at which the scene counts as solved.",
    "episode length": "Ticks that an episode lasts, the mean of the last hundred.",
    "entropy": "How varied the actions are: high while much is tried, near zero once the policy is sure of itself.",
    "epsilon": "The share of actions that are drawn evenly at random, to try what the agent does not think best.",
    "policy loss": "What the policy's update makes smaller: minus the advantage of what it did; it hovers around zero.",
    "value loss": "How far the expected return was from the one that came, squared: low means it knows what comes.",
    "loss": "How far the agent's predictions were off in the newest update.",
    "advantage": "How much better an action turned out than the agent had expected: what makes it more likely.",
    "mean steps per second": "Decisions of all arenas a second, the mean since the training began.",
    "steps": "Decisions of one arena each: what training is measured in.",
    "steps/s": "Decisions of all arenas a second, over the last ten seconds.",
    "left": "How long it takes at this speed until all steps are done.",
    "stage speed": "How fast the stage plays: 1x is real time. The training does not care.",
    "endings": "How the last hundred episodes ended, as shares of all of them.",
    "rewards": "What each reward term brought per episode, the mean of the last hundred; below zero are fines.",
    "elo": "How strong the policy is against its earlier selves; 400 more means ten wins for each defeat.",
    "reward to come; later counts less": "A reward n ticks from now counts discount to the power of n.",
}
STATES: dict[str, str] = {
    "TRAINING": "The policy learns in arenas of its own, behind the stage.",
    "TRAINING AT": "Training keeps to this pace so that there is something to see; O changes it.",
    "TRAINING PAUSED": "Nothing is learned until T lets the training go on; the stage plays.",
    "SOLVED": "An evaluation has reached the number at which the scene counts as solved.",
    "SOLVED, TRAINING": "An evaluation has reached the number at which the scene counts as solved; training goes on.",
    "COLLAPSED, TRAINING": "The newest evaluations are far below the best one, whose policy is kept as `best`.",
    "FINISHED": "All steps are done; the stage plays the policy as it is now.",
    "INTERRUPTED": "Training was stopped before all steps were done; --resume goes on.",
    "PLAYING": "A policy plays that was trained before; nothing learns.",
}
"""Signs in capitals that say what the program does: at the top, and over the stage. A sign may go on, as `AT 1x`."""
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


UNITS = (
    ((" x", " y", " ahead", " aside"), "metres"),
    ((" vx", " vy", " velocity"), "metres per second"),
    ((" angle", " heading"), "radians"),
    ((" spin",), "radians per second"),
)


def about_seen(name: str, scale: float | None) -> str:
    """Return in a sentence what a number is that the agent sees; `scale` is what the scene multiplies it by."""
    if " touches " in name:
        return f"{name}: 1 while it does, else 0."
    unit = next((unit for ends, unit in UNITS if name.endswith(ends)), "")
    if " to " in name and unit == "metres":
        unit = "metres"
    if not unit or scale is None:
        return f"{name}: a number as the scene makes it."
    if scale in (0.0, 1.0):
        return f"{name}, in {unit}."
    return f"{name}, in {unit} times {scale:.3g}: 1.00 stands for {1 / scale:.3g} {unit}."
