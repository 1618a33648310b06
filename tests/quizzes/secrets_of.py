"""What of a question no browser may see before the answer."""

_SECRET = (".feedback", ".model_answer", ".rubric.text", ".fact", ".measure")


def secrets_of(value: object, key: str = "") -> list[str]:
    """Every feedback, rubric point and model answer of a question, and where its number comes from."""
    if isinstance(value, dict):
        return [secret for name, inner in value.items() for secret in secrets_of(inner, f"{key}.{name}")]
    if isinstance(value, (list, tuple)):
        return [secret for inner in value for secret in secrets_of(inner, key)]
    return [value] if key.endswith(_SECRET) and isinstance(value, str) else []
