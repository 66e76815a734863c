"""What the terminal of a command can do."""

import shutil
import sys

from rich.console import Console


def terminal_width() -> int | None:
    """Return the columns of the terminal; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def in_place(console: Console) -> bool:
    """Tell whether a panel can be redrawn: not in a file, whatever FORCE_COLOR says of colours."""
    return console.is_interactive and console.file.isatty()
