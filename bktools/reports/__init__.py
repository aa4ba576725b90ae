"""Reports: the month-end close and its folder, workbooks, plots, outcomes."""
