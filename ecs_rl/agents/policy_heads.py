"""How the outputs of a saved policy's network become actions, for pilots, which play it without its learner.

A learner names its head in its policy's spec, and a checkpoint says it. Nothing is imported here: a game may be shipped
with a pilot and numpy alone.
"""

DISTRIBUTION = "distribution"
"""Scores of options and means of levers in the order of the space, spreads `policy/log_std`, the value last if shared.
"""
VALUES = "values"
"""Values of options, the state's own first if dueling, by a network `q`; some actions are random while exploring.

With parameters `q/embedding` the network gives quantiles, whose mean over FRACTIONS evenly spaced ones is the value.
"""
SQUASHED = "squashed"
"""Means of levers, logarithms of their spreads, scores of options; a lever is the hyperbolic tangent of its output."""
TANH = "tanh"
"""Levers alone: the hyperbolic tangent of each output; exploring adds normal noise, the setting `noise`."""

EMBEDDING, COSINES, FRACTIONS = "embedding", 64, 32
"""Of a network of quantiles: the name of its embedding, the cosines that it sees of a fraction, fractions of a mean."""

FORBIDDEN = -1e9
"""What is added to the score or value of an option that is not allowed."""

HEADS = (DISTRIBUTION, VALUES, SQUASHED, TANH)

EARLIER = {
    "ppo": (DISTRIBUTION, {"network": "mlp", "activation": "tanh", "shared": False, "normalise_observations": True}),
    "dqn": (VALUES, {"activation": "relu", "dueling": False, "normalise_observations": False}),
    "sac": (SQUASHED, {"activation": "relu", "normalise_observations": False}),
}
"""By algorithm, the head of checkpoints that do not name one, and settings that they may lack."""
