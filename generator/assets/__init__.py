"""Meshes of objects: shapes, the built-in animals, and asset sets that a user installs or
imports."""
