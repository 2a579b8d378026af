"""Train an agent in a scene: `python train.py SCENE`; `--help` tells the rest."""

from ecs_rl.cli.process import NOTHING_SAVED, run_program

if __name__ == "__main__":
    run_program("train.py", "ecs_rl.commands.train", NOTHING_SAVED)
