"""Judges the splits of datasets made elsewhere from their labels alone: leaks, shortcuts, true negatives, familiarity."""
