"""How many held-out bindings a form names."""

from generator.holdout import Holdout
from generator.language.form import Form, Mention


def named_held_out(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding, asserted or denied: "a cube that is not red" names (red, cube)."""
    return sum(_names(mention, holdout) for mention in form.objects)


def _names(mention: Mention, holdout: Holdout) -> bool:
    category = mention.category
    if category is not None:
        for kind, value in mention.attributes:
            if kind == holdout.kind and holdout.holds_out(value, category):
                return True
    return bool(mention.without) and _denies(mention, holdout)


def _denies(mention: Mention, holdout: Holdout) -> bool:
    said = (*mention.attributes, *mention.without)
    values = [value for kind, value in said if kind == holdout.kind]
    categories = [value for kind, value in mention.without if kind == holdout.category]
    if mention.category is not None:
        categories.append(mention.category)
    return any(holdout.holds_out(value, category) for value in values for category in categories)
