"""Kamath et al. 2024 (hard positives): recipe of the experiment, tables, figures."""
