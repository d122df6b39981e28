"""Language: the meaning of captions (forms), their words (grammar), their truth on a scene, and
foils from them."""
