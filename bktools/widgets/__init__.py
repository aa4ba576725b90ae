"""Pickers for JupyterLab; what they pick can be had as data and as code."""
