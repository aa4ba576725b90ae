"""What a check is, and what it finds: codes with typed facts, and no sentence."""
