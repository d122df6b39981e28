"""Peng et al. 2026 (BindSplit): recipe of the experiment, tables, figures."""
