"""The stages of the tick, one file each, named by its verb; their order is in `schedule.py`."""
