"""COMPASS (anonymous 2026): recipe of the experiment, tables, figures."""
