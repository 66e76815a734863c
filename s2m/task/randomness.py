"""Separate random streams, so that drawing from one never shifts another."""

import hashlib

import torch

STREAMS = ("spawn", "command", "noise", "permutation", "stagger", "action")


def seed_of(seed: int, words: str) -> int:
    """Return a seed for one purpose of a run."""
    digest = hashlib.sha256(f"{seed}/{words}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def take_up(generator: torch.Generator, state: torch.Tensor) -> None:
    """Go on where a generator was saved; one of another kind of device is seeded by that state."""
    if generator.get_state().shape == state.shape:
        generator.set_state(state)
    else:
        generator.manual_seed(seed_of(0, state.numpy().tobytes().hex()))


class Streams:
    """One torch generator per purpose, all derived from one seed."""

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        """Seed every stream by a hash of its name and the run's seed."""
        self._generators = {name: torch.Generator(device) for name in STREAMS}
        for name, generator in self._generators.items():
            generator.manual_seed(seed_of(seed, name))

    def __getitem__(self, name: str) -> torch.Generator:
        """Return the generator of one purpose."""
        return self._generators[name]

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return the states of all streams."""
        return {name: generator.get_state() for name, generator in self._generators.items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Take up streams where they were saved."""
        for name, generator in self._generators.items():
            take_up(generator, state[name])
