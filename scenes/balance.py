"""Keep a pole upright on a cart that can only be pushed left or right: the cart-pole of Barto, Sutton and Anderson."""

from ecs_rl.scene import *

SCENE = Scene(
    about="Keep a pole upright on a cart that can only be pushed left or right.",
    max_ticks=500,
    solved_at=475,
    gravity=(0.0, -9.8),
    recipes={
        "ppo": {
            "arenas": 32,
            "threads": 1,
            "steps": "200k",
            "eval_every": 8192,
            "checkpoint_every": "50k",
            "lr": 1e-3,
            "rollout": 32,
            "minibatch": 256,
            "epochs": 10,
        },
        "dqn": {
            "arenas": 16,
            "threads": 1,
            "steps": "100k",
            "eval_every": 2048,
            "checkpoint_every": "25k",
            "lr": 1e-3,
            "lr_schedule": "exponential",
            "lr_end": 0.01,
            "slow_policy": True,
            "n_step": 8,
            "dueling": True,
            "normalise_observations": True,
            "huber": 30,
            "memory": "100k",
            "learn_every": 4,
            "target_every": 1,
            "target_rate": 0.01,
        },
        "sac": {
            "arenas": 16,
            "threads": 1,
            "steps": "60k",
            "eval_every": 2048,
            "checkpoint_every": "15k",
            "updates_per_step": 0.5,
            "target_share": 0.02,
            "choice_entropy": 0.5,
            "normalise_observations": True,
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
        sees=[X(cart), Vx(cart), Angle(pole), Spin(pole)],
        does=Choice(left=Push(cart, -10.0), right=Push(cart, +10.0)),
        earns={"upright": 1.0},
        ends={"fell": beyond(Angle(pole), 0.2095), "ran off": beyond(X(cart), 2.4)},
    )
