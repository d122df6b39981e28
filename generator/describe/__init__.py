"""Texts and items: what is asked of a model about each scene."""
