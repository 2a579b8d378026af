"""Films: `encoder` turns pictures into a file, `studio` makes the pictures, `clips` says when."""
