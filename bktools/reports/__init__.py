"""Tables handed on: CSV, plots, the month-end folder."""
