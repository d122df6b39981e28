"""Compute the scores that protocols need: each image, text or pair once, in batches, by one or
several processes."""
