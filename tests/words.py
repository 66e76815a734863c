"""Words of commands in tests: those that tests share, and those that take their place."""


def latest(*words: str) -> list[str]:
    """Return the words of one launch, of each setting the last: given twice it is refused."""
    return list({word.split("=", 1)[0]: word for word in words}.values())
