"""Compares the images of a world with its records: files, outlines, colours, and renders made again."""
