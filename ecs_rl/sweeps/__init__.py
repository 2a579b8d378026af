"""Sweeps: the same training with many settings on Ray Tune. Nothing of Ray is imported before one is asked for."""
