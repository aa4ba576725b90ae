"""Text cells → values: days, amounts and their currencies, names and approvals."""
