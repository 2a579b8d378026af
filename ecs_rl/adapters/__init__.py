"""Doors to other libraries, each in a file of its own that imports the library: `gym`, `pettingzoo`."""
