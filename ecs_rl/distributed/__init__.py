"""Processes that train together, on one machine or on many: what they send each other, over `torch.distributed`.

`group.py` is what a learner sees of them, `processes.py` the group of several, `place.py` what a launcher says.
"""
