"""The stages of a training's tick that learn, evaluate and write, one file each, named by its verb.

Each has the shape of those in `processors/`. Their order is in `schedule.py`.
"""
