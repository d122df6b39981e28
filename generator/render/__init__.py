"""Render planned scenes: jobs, workers, resuming, shards, quality."""
