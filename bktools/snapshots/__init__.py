"""Loads tables of the service as DataFrames, and keeps each load as a snapshot: one Parquet file."""
