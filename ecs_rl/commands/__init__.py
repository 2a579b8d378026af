"""The two commands, `train` and `play`: each reads its words, then imports what carries them out.

These imports stand inside functions, because torch and pygame take seconds to load: trivial mistakes are told before.
"""
