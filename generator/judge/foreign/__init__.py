"""Judges splits of datasets made by others, from their labels alone: leaks, shortcuts, true
negatives, familiarity."""
