"""Loads tables of the service as DataFrames or Parquet files, and keeps snapshots of them."""
