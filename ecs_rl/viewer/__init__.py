"""The window: plain data in (`view`), a picture out (`frame`); the only package that imports pygame.

It reads the world and changes nothing in it. `view` says all that one frame shows, `gather` and `history` take that
from a world and from a run's files, `layout` says where everything goes, and the other modules draw it.
"""

import os

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would stand on stdout, where programs expect JSON
