"""Frames: the columns and types of each noun, CSV output, and the engine that queries frames."""
