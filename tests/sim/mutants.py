"""Wrong copies of a simulator's module, which the contract must notice."""

import sys
import types
from pathlib import Path

import s2m.sim
from tests.sim.contract import CHECKS

FOLDER = Path(s2m.sim.__file__).parent


def mutated(name, old, new):
    """Return a module of the simulators' folder with one place of its source changed."""
    source = (FOLDER / f"{name}.py").read_text()
    assert old in source, f"{name}.py has no '{old}' any more: adapt the mutant"
    module = types.ModuleType(f"s2m.sim.{name}")
    module.__file__ = str(FOLDER / f"{name}.py")
    sys.modules[module.__name__] = module
    changed = source.replace(old, new) if old else source
    exec(compile(changed, f"mutant of {name}.py", "exec"), module.__dict__)
    return module


def survives(bench):
    """Whether all checks pass; the first in the file notice most."""
    for check in sorted(CHECKS, key=lambda check: check.__code__.co_firstlineno):
        try:
            check(bench)
        except Exception:
            return False
        finally:
            close_scene()
    return True


def close_scene():
    """Only one Isaac Lab scene can be open: close what a check built."""
    module = sys.modules.get("isaaclab.sim")
    if module is not None:
        module.SimulationContext.clear_instance()
