"""Worker processes that render, on this machine or on a Ray cluster."""
