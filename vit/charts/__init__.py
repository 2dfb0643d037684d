"""Values to Pictures, one file per page; and what all of them share: kinds of picture, mosaics, colours."""
