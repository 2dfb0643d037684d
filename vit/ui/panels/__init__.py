"""The panels of all pages, one file per page: each takes the view and lays out pictures and words."""
