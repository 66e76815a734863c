"""S2M-Trek: multi-sphere transport with per-frame deep sets, from a config to a table cell."""

import sys
from pathlib import Path

__version__ = "0.2.0.dev0"


def _stand_alone() -> None:
    """Let no other copy of s2m fill the gaps of this one.

    The finder of an editable install would: jobs that lack a module of their frozen code would
    import the one that is being edited.
    """
    here = Path(__file__).resolve().parent
    for finder in list(sys.meta_path):
        module = sys.modules.get(getattr(finder, "__module__", ""))
        place = getattr(module, "MAPPING", {}).get(__name__)
        if place is not None and Path(place).resolve() != here:
            sys.meta_path.remove(finder)


_stand_alone()
