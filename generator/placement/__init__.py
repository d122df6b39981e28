"""Where everything in a scene stands."""
