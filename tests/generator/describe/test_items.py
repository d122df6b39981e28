from generator.describe.items import Text, item_of_foils
from generator.language.foils import Foil
from generator.language.form import Form, Mention


def test_foils_are_in_the_template_of_their_caption() -> None:
    caption = Text(Form((Mention("cube"),)), "there-is")
    foil = Foil(Form((Mention("cone"),)), ("0:shape:cube>cone",), "atom")
    item = item_of_foils("skill", "targeted", "object", caption, [foil])
    true, false = item.candidates
    assert (true.text, true.slot, true.truth) == (caption, "c", True)
    assert (false.text, false.slot, false.truth) == (Text(foil.form, "there-is"), "n", False)
    assert (false.kind, false.changed, false.of) == ("atom", ("0:shape:cube>cone",), caption)
