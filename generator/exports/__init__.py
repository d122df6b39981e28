"""Datasets in the formats of other tools."""
