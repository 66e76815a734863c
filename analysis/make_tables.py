"""Turn runs into tables, figures and a report: python analysis/make_tables.py --help."""

import os
import sys
from pathlib import Path

THREADS = "OPENBLAS_NUM_THREADS"

if __name__ == "__main__":
    # Python looks for modules in this folder first; the package `analysis` lies one above.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    # The matrices are small: threads of numpy would mostly wait for each other, and burn a core.
    free = THREADS not in os.environ
    os.environ.setdefault(THREADS, "1")
    from analysis.build import main
    from s2m.console.errors import run_command

    if free:  # numpy has read it; commands that are started from here choose for themselves
        del os.environ[THREADS]
    run_command(main)
