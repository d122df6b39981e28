"""Inspects datasets and families: sheets and pages for people, checks of images, and reproduction
of files."""
