"""Judges splits of datasets made by others, from a table of their labels alone: leaks, shortcuts,
true negatives, familiarity."""
