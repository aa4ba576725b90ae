"""Bytes → a raw table of text cells: delimited text, workbooks and Parquet."""
