"""Text to vector: the models, and the background queue that runs them."""
