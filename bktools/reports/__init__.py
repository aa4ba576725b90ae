"""Reports: the month-end close and its folder, workbooks, pictures, fixes and verifications."""
