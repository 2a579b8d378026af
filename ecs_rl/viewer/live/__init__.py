"""The live window: a display, a loop with a budget, commands for every key, and the training that runs in between."""
