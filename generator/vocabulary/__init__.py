"""Families of worlds, read from TOML: attributes, objects, relations, materials, environments."""
