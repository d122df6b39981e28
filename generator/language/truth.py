"""Whether a form is true of a scene."""

from generator.language.form import Form, Mention
from generator.scene import Scene, SceneObject


def holds(form: Form, scene: Scene) -> bool:
    """Whether the scene has different objects for all that the form mentions (closed world, distinct referents).

    Categories and attributes are known exactly, so a form that asserts nothing else is never undecided.
    """
    return _matchable([[_fits(m, thing) for thing in scene.objects] for m in form.objects], frozenset())


def _fits(mention: Mention, thing: SceneObject) -> bool:
    return mention.category == thing.category and all(thing.attributes.get(k) == v for k, v in mention.attributes)


def _matchable(fits: list[list[bool]], used: frozenset[int]) -> bool:
    if not fits:
        return True
    first, *rest = fits
    return any(fit and i not in used and _matchable(rest, used | {i}) for i, fit in enumerate(first))
