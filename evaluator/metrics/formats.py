"""How numbers are written in tables, on pages and in the terminal."""

from typing import Any

DASH = "–"
"""What a table shows in place of a missing number, and between the ends of a range."""


def number(value: Any, unit: str, decimals: int = 1) -> str:
    """Write a number by its unit.

    Args:
        value: The number; None for a missing one.
        unit: "share" in 0..1, written in percent, tiny ones with two significant digits;
            "difference", written in signed points; "skill", at most 1 and below 0 for worse than
            chance, written in percent; "count"; or "score".
        decimals: Digits after the point of shares, differences and skills.

    Returns:
        The number without its unit; a dash for None.

    Example:
        >>> number(0.5, "share"), number(2 / 7392, "share")
        ('50.0', '0.027')
        >>> number(-0.1, "difference"), number(1200, "count")
        ('-10.0', '1,200')
        >>> number(-0.00001, "difference"), number(-0.33333, "skill")
        ('+0.0', '-33.3')
        >>> number(0.21, "score"), number(-0.010234, "score"), number(None, "share")
        ('0.210', '-0.01023', '–')
    """
    if value is None:
        return DASH
    if unit == "share":
        percent = 100 * value
        # Chance among thousands of texts would be rounded to 0.0.
        if 0 != percent < 10**-decimals:
            return f"{percent:.2g}"
        return f"{percent:.{decimals}f}"
    # "z": what rounds to zero has no minus.
    if unit == "difference":
        return f"{100 * value:+z.{decimals}f}"
    if unit == "skill":
        return f"{100 * value:z.{decimals}f}"
    if unit == "count":
        return f"{value:,}"
    # Three decimals would leave one or two digits of a small score.
    if 0 < abs(value) < 0.1:
        return f"{value:.4g}"
    return f"{value:.3f}"
