"""Language: what captions assert (forms), their words (grammar), their truth on a scene, and foils made from them."""
