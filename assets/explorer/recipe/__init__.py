"""How the explorer's weights were made; which part of their way it does not repeat stands in assets/README.md."""
