"""Questions to models that answer in words, and what their answers say."""
