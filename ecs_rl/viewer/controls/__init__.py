"""Controls: what keys do to the window beside its panels. A control is a panel without a picture.

Each file has one `Control` that owns what it needs: its keys first make it do something, `is_on`, `chips` and `leave`
are its mode, and `open`, `advance`, `look`, `after_draw` and `close` are called by the window if it has them.
"""
