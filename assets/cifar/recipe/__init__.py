"""How the model that reads photos was made."""
