"""Bookkeeping service data in pandas."""

__version__ = "0.1.0"
