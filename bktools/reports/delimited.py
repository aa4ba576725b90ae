"""The CSV writer under the name it has among the reports; it is a floor lower, where plans and findings write with it."""

from bktools.frames.delimited import PROFILES, to_csv

__all__ = ["PROFILES", "to_csv"]
