"""The experiments that are shipped. Each has a module with the scales and the loops over its stages."""
