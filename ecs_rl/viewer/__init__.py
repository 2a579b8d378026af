"""The window: plain data in (`view`), a picture out (`frame`); the only package that imports pygame.

It reads the world and changes nothing in it. `view` says all that one frame shows, `gather` takes that from a world,
`history` from a run's files and what its training adds, `frame` says where everything goes, and the others draw it.
"""

import os

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would stand on stdout, where programs expect JSON
