"""Gymnasium environments as scenes: they play in the same world, session and run as games with bodies."""
