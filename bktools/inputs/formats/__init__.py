"""The formats that accounting systems write, one file a format; `registry.py` is their table."""
