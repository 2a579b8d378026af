"""Trained policies in anybody's loop: `ecs_rl.load`. Needs numpy alone, but for the torch backend and ONNX files."""
