"""Rows of the service as DataFrames, kept as Parquet snapshots."""
