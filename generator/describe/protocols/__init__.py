"""Protocols: one file each, from a scene to its items. `registry.py` lists them."""
