"""Controls: what keys do to the window beside its panels. A control is a panel without a picture.

Each file has one `Control`: the keys, the chip that shows while its mode is on, and how Esc leaves it.
"""
