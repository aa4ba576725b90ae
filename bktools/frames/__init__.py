"""What a frame is in bktools: columns and types per noun, where it came from, and the engine that joins frames."""
