"""Patchwise: a Vision Transformer built by hand, and everything that shows how it works."""
