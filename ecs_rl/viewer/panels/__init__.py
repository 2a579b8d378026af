"""The panels of the HUD: status line, mind, learning, and what floats over the stage."""
