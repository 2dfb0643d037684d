"""The panels of the Claims page: all claims, one of them with what is behind it, and the same runs on this machine."""
