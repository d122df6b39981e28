"""Plans a world: the contents of each scene, before positions are drawn."""
