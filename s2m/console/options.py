"""The options of commands that take few words: a mistake is one line, too."""

import argparse
from typing import NoReturn

from s2m.console.errors import UserError


class Options(argparse.ArgumentParser):
    """A parser whose errors are those of all commands; the usage in them names what is allowed."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing several lines."""
        raise UserError(f"{message}; {' '.join(self.format_usage().split())}")
