"""Train an agent in a scene: `python train.py SCENE`; `--help` tells the rest."""

import sys

from ecs_rl.commands.train import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
