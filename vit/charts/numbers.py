"""Numbers as text, tables and equations show them."""


def fixed(value: float, decimals: int) -> str:
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"  # + 0.0 turns −0 into 0


def plain(value: float) -> str:
    """A number for text and tables, with a proper minus."""
    return fixed(value, 2).replace("-", "−")


def rounded(value: float) -> str:
    """A number for equations in KaTeX."""
    return fixed(value, 3)


def bracketed(value: float) -> str:
    """A number for the inside of a sum or product in KaTeX: negative ones in brackets."""
    text = rounded(value)
    return f"({text})" if text.startswith("-") else text
