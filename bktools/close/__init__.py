"""The month as data: its entries and their fates, figures, steps to do, and changes. It prints nothing."""
