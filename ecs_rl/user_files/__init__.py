"""A file of the user's own: a scene, network, algorithm, opponent or recorder goes through the same few steps.

| step | module | what it does |
|---|---|---|
| name | `named` | takes `FILE.py:NAME` apart and returns the object of that name |
| read | `sources` | reads a file with the helpers beside it, hashes them and runs those very bytes |
| trust | `known`, `trusted` | remembers the code that the user ran; finds it again for a checkpoint that names it |
| explain | `explain` | turns an error in the file into one line with file and line number |
| watch | `opened` | notes the data files that it opens below its own folder |

What each kind of object must look like is checked in its own room.
"""
