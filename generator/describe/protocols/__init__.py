"""One file for each protocol: from a scene to its items."""
