"""The panels of the Train page: what to train, twins as they train, what is left of them, and all runs."""
