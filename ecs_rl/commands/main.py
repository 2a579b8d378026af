"""`ecs-rl train ...` and `ecs-rl play ...`: the two commands of an installed package."""

from __future__ import annotations

import sys

from ecs_rl.cli.called import asks_for_version, versions_in_words
from ecs_rl.commands import play, train
from ecs_rl.console import deliver, tell

USAGE = """\
usage: ecs-rl train SCENE    train an agent in a scene
       ecs-rl play [RUN]     play back what a run has learnt

`ecs-rl train --help` and `ecs-rl play --help` list their flags; `ecs-rl --version` tells the version."""


def main() -> int:
    """Run the command that the first word names with the words behind it, and return its exit code."""
    name, *rest = sys.argv[1:] or [""]
    if name == "train":
        return train.main(rest)
    if name == "play":
        return play.main(rest)
    if asks_for_version(sys.argv[1:]):
        deliver(versions_in_words())
        return 0
    if name in ("-h", "--help"):
        tell(USAGE)
        return 0
    wrong = f"there is no command '{name}'" if name else "a command is missing"
    tell(f"ecs-rl: {wrong}: write ecs-rl train or ecs-rl play (ecs-rl --help tells more)", sys.stderr)
    return 2
