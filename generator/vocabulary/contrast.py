"""What would vanish on the ground of a place: plans put it elsewhere."""

from functools import cache

import numpy as np

from generator.vocabulary.environments import Environment
from generator.vocabulary.materials import AttributeValue, linear_of

Colors = tuple[tuple[float, float, float], ...]
"""Linear red, green and blue, 0..255."""
_VANISHES = 14.0


def vanishes(value: AttributeValue, place: Environment) -> bool:
    """Whether an object with this value has nearly the colours of the ground; False where either has none.

    That is, its colours have a mean CIEDE2000 below 14 to the nearest of the ground's.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> pug = read_vocabulary("pug")
    >>> [name for name, place in pug.environments.items() if vanishes(pug.attributes["color"]["gray"], place)]
    ['mountains', 'spaceship', 'city']
    """
    if place.ground is None:
        return False
    painted = [*map(linear_of, value.texture.colors or ())] if value.texture else []
    colors = tuple(painted or ([value.color] if value.color else []))
    return bool(colors) and _distance(colors, tuple(map(linear_of, place.ground.colors))) < _VANISHES


@cache
def _distance(colors: Colors, ground: Colors) -> float:
    """Mean over colours of the CIEDE2000 to the nearest of the ground's."""
    from skimage.color import deltaE_ciede2000, xyz2lab  # takes a while to import
    from skimage.color.colorconv import xyz_from_rgb

    one, other = (xyz2lab(np.array(each) / 255 @ xyz_from_rgb.T) for each in (colors, ground))
    return float(deltaE_ciede2000(one[:, None], other[None]).min(1).mean())
