"""Balance without seeing how fast anything moves: who remembers where things were can tell."""

from ecs_rl.scene import *

SCENE = Scene(
    about="Keep a pole upright without seeing how fast it falls.",
    max_ticks=500,
    solved_at=475,
    gravity=(0.0, -9.8),
    recipes={
        "ppo": {
            "arenas": 32,
            "threads": 1,
            "steps": "400k",
            "eval_every": 16384,
            "lr": 1e-3,
            "rollout": 64,
            "minibatch": 512,
            "epochs": 8,
            "network": "gru",
            "hidden": (32,),
        },
    },
)


def build(arena: Arena) -> None:
    """One cart on a groove, one pole hinged to it, one agent that pushes."""
    cart = arena.spawn(
        "cart", Body(mass=1.0, spins=False), Box(0.5, 0.3), Start(x=jitter(0.05), vx=jitter(0.05)), Look("sky")
    )
    pole = arena.spawn("pole", Body(mass=0.1), Rod(1.0), Start(angle=jitter(0.05), spin=jitter(0.05)), Look("orange"))
    arena.join(
        Groove(arena.ground, cart, start=(-5.0, 0.0), end=(5.0, 0.0)),
        Pivot(cart, pole, hinge=(0.0, -0.5)),
    )
    arena.agent(
        sees=[X(cart), Angle(pole)],
        does=Choice(left=Push(cart, -10.0), right=Push(cart, +10.0)),
        earns={"upright": 1.0},
        ends={"fell": beyond(Angle(pole), 0.2095), "ran off": beyond(X(cart), 2.4)},
    )
