"""Meshes that are more than shapes: the built-in animals, and sets that a user installs or imports."""
