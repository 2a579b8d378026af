"""What stands behind `train.py` and `play.py`: their settings, how they are read, and the progress they show."""
