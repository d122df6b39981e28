"""Where composition fails: what image and text embeddings hold of attributes, objects and their binding."""
