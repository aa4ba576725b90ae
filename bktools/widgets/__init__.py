"""Pickers for notebooks; what they pick can be had as data and as code."""
