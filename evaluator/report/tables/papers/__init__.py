"""The tables and figures of five papers, as data."""
