"""Names of models on figures: NAME=MODEL."""


def name_and_spec(model: str) -> tuple[str, str]:
    """The name and the spec of [NAME=]SPEC. A spec may hold "=" itself.

    >>> name_and_spec("frozen=diffusion:sd@fixed,samples=4")
    ('frozen', 'diffusion:sd@fixed,samples=4')
    >>> name_and_spec("blind:length")
    ('blind:length', 'blind:length')
    """
    name, equals, spec = model.partition("=")
    return (name, spec) if equals and ":" not in name else (model, model)
