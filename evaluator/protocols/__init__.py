"""One file for each protocol: pure functions from scores to results."""
