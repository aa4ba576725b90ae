"""Bytes → a grid of text cells: delimited text, workbooks and Parquet."""
