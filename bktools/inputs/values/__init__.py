"""Text cells → values: days, amounts and their currencies, names, approvals, split entries and accounts."""
