"""Films: `encoder` turns pictures into a file, `studio` and `recorder` make the pictures, `clips` says when."""
