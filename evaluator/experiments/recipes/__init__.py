"""The built-in experiments: a module for each, with its scales and the loops over its stages."""
