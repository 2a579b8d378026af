"""A training put together: prepare, evaluate, save and resume, play back."""
