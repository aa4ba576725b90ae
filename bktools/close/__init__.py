"""The month as data: its entries with their fates, its figures, what is to be done, and what changed. No output."""
