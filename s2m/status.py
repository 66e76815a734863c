"""Progress of all runs: python -m s2m.status [FOLDER] [--watch] [--json | --html FILE | --serve].

It changes no run; it caches what it has read of finished ones in FOLDER/.finished.jsonl, which may
be deleted. Runs that did not end well are listed below the table, with a verdict and the end of
their log. The ETAs of levels 3 and 5 come from runs of the same variant and budget that reached
them. --serve shows all curves on localhost while runs train.
"""

import argparse
from pathlib import Path

from s2m.config.overrides import with_folder
from s2m.console.errors import UserError, run_command
from s2m.console.options import Options
from s2m.monitor.page import write_page
from s2m.monitor.serve import PORT, serve
from s2m.monitor.table import as_json, print_table
from s2m.run.finding import locate


def _port(word: str) -> int:
    if not word.isdecimal() or int(word) > 65535:
        raise argparse.ArgumentTypeError(f"{word!r} is not a port: allowed are 0 to 65535")
    return int(word)


def main(words: list[str]) -> int:
    """Print the table once, as JSON, or again and again; or write or serve the page."""
    parser = Options(prog="python -m s2m.status", description=__doc__)
    add = parser.add_argument
    add("folder", nargs="?", default="runs", metavar="FOLDER", help="folder of runs (runs)")
    add("--watch", action="store_true", help="repeat until Ctrl-C")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--json", action="store_true", help="print the states for programs")
    kinds.add_argument("--html", type=Path, metavar="FILE", help="write a page with all curves")
    kinds.add_argument(
        "--serve", type=_port, nargs="?", const=PORT, metavar="PORT",
        help=f"show that page on localhost until Ctrl-C ({PORT}; 0: any free port)",
    )  # fmt: skip
    options = parser.parse_args(with_folder(words))
    root = locate(options.folder)
    if not root.is_dir():
        raise UserError(f"{root}: not a directory; runs are kept in ./runs unless root= is given")
    if options.html and options.html.is_dir():
        raise UserError(f"--html {options.html} is a folder: allowed is a file, as runs.html")
    if options.serve is not None:
        serve(root, options.serve)
    elif options.json:
        print(as_json(root))
    elif options.html:
        write_page(root, options.html, options.watch)
    else:
        print_table(root, options.watch)
    return 0


if __name__ == "__main__":
    run_command(main)
