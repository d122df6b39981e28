"""One file for each protocol: from scores to results, and how the results are shown."""
