"""Reads scores that were made elsewhere, so that they are measured like those of a run."""
