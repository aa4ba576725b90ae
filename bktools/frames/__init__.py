"""Frames: the columns and types of each noun, and how a frame comes in and goes out as a file."""
