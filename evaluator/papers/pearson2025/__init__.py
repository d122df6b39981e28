"""Pearson et al. 2025: recipe of the experiment, tables, figures."""
