"""Where all runs stand: python -m s2m.status [FOLDER] [--watch] [--json | --html FILE].

It only reads. Below the table stand runs that did not end well, with a verdict and the end of their
log. The estimates to levels 3 and 5 come from runs of the same variant and budget that reached
them.
"""

import argparse
from pathlib import Path

from s2m.console.errors import UserError, run_command
from s2m.monitor.page import write_page
from s2m.monitor.table import as_json, print_table


def main(words: list[str]) -> int:
    """Print the table once, as JSON, or again and again; or write the page."""
    options = _parse(words)
    root = Path(options.folder)
    if not root.is_dir():
        raise UserError(f"{root} is no folder; runs are kept in ./runs unless root= says otherwise")
    if options.html and options.html.is_dir():
        raise UserError(f"--html {options.html} is a folder: allowed is a file, as runs.html")
    if options.json:
        print(as_json(root))
    elif options.html:
        write_page(root, options.html, options.watch)
    else:
        print_table(root, options.watch)
    return 0


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m s2m.status", description=__doc__)
    add = parser.add_argument
    add("folder", nargs="?", default="runs", metavar="FOLDER", help="folder of runs (runs)")
    add("--watch", action="store_true", help="go on until Ctrl-C")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--json", action="store_true", help="print the states for programs")
    kinds.add_argument("--html", type=Path, metavar="FILE", help="write a page with all curves")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
