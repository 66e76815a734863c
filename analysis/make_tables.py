"""Turn runs into tables, figures and a report: python analysis/make_tables.py --help."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python looks for modules in this folder first; the package `analysis` lies one above.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from analysis.build import main
    from s2m.console.errors import run_command

    run_command(main)
