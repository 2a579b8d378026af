"""What `train.py` and `play.py` do once a command is read: train, resume, check, play, export, and their progress."""
