"""Play back the best checkpoint of a run: `python play.py [RUN]`; `--help` tells the rest."""

import sys

from ecs_rl.commands.play import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
