"""Play back the best checkpoint of a run: `python play.py [RUN]`; `--help` tells the rest."""

from ecs_rl.cli.process import run_program

if __name__ == "__main__":
    run_program("play.py", "ecs_rl.commands.play", "interrupted")
