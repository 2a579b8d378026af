"""Geometry by numpy alone: rays against segments."""
