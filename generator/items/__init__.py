"""What is asked of a model about a scene: one file a protocol, from a scene's facts to items."""
