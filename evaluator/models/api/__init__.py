"""`api:` models: a vision-language model behind an OpenAI-compatible endpoint, asked whether an image shows a text."""
