"""The only code that imports bpy; it runs in worker processes."""
