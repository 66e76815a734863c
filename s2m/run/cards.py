"""The GPUs that a process here may use, as nvidia-smi and CUDA_VISIBLE_DEVICES tell of them.

Neither torch nor CUDA is loaded for it: whoever launches runs takes no memory of a card.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace

VISIBLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
BY_BUS = "PCI_BUS_ID"
"""The order in which nvidia-smi counts; CUDA's own begins with the fastest card."""
FIELDS = ("index", "uuid", "name", "memory.total", "driver_version")
PATIENCE = 30
"""Seconds for nvidia-smi, which takes some if the driver has to be loaded."""


@dataclass(frozen=True)
class Gpu:
    """One GPU."""

    name: str
    """What CUDA_VISIBLE_DEVICES calls it: its number, or the text that the user's list has."""
    model: str = ""
    memory: int = 0
    """Memory, MiB; 0 if nobody tells."""
    uuid: str = ""
    driver: str = ""
    """Version of the driver."""
    order: str = ""
    """In which order a number counts; empty: in that of the environment."""

    def environment(self) -> dict[str, str]:
        """Return what lets a process see this card only, as cuda:0."""
        return {VISIBLE: self.name, **({ORDER: self.order} if self.order else {})}

    def __str__(self) -> str:
        """Say which one it is."""
        return f"{self.name} ({self.model})" if self.model else self.name


@dataclass(frozen=True)
class Cards:
    """What was found."""

    found: tuple[Gpu, ...] = ()
    trouble: str = ""
    """Why none was found."""


def installed() -> Cards:
    """Ask nvidia-smi for all cards; one that it cannot talk to is not among them."""
    command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return Cards(trouble="nvidia-smi not found")
    except OSError as error:
        return Cards(trouble=f"nvidia-smi: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Cards(trouble="nvidia-smi does not answer")
    cards = tuple(card for line in done.stdout.splitlines() if (card := _card(line)))
    said = (done.stdout + done.stderr).strip().splitlines()
    return Cards(cards, "" if cards else said[0] if said else "nvidia-smi lists no GPU")


def _card(line: str) -> Gpu | None:
    """Read a line of nvidia-smi; None if it is about something else, as a card that is lost."""
    words = [word.strip() for word in line.split(",")]
    if len(words) < len(FIELDS) or not words[0].isdecimal():
        return None
    number, uuid, *model, memory, driver = words
    size = int(memory) if memory.isdecimal() else 0
    return Gpu(number, ", ".join(model), size, uuid, driver, BY_BUS)


def visible(environment: Mapping[str, str] | None = None) -> Cards:
    """Return the cards that CUDA shows to a process of an environment (this one's), in its order.

    Inside CUDA_VISIBLE_DEVICES they have the names of that list, and like for CUDA it ends at the
    first name that is none.
    """
    environment = os.environ if environment is None else environment
    every, listed = installed(), environment.get(VISIBLE)
    if listed is None:
        return every
    order, named = environment.get(ORDER, ""), []
    for name in map(str.strip, listed.split(",")):
        card = _named(name, every, order)
        if card is None or card.name in (other.name for other in named):
            break
        named.append(card)
    return Cards(tuple(named), "" if named else f"{VISIBLE}={listed} shows none")


def _named(name: str, every: Cards, order: str) -> Gpu | None:
    if name.isdecimal():
        if not every.found:
            return Gpu(name)  # without nvidia-smi the list is all there is
        if int(name) >= len(every.found):
            return None
        if order == BY_BUS or len({card.model for card in every.found}) == 1:
            return replace(every.found[int(name)], name=name, order="")
        return Gpu(name)  # in CUDA's own order, it may be any of them
    if name.startswith("MIG-") or (name.startswith("GPU-") and not every.found):
        return Gpu(name)
    if name.startswith("GPU-"):
        known = [card for card in every.found if card.uuid.startswith(name)]
        return replace(known[0], name=name, order="") if len(known) == 1 else None
    return None


def card_of(device: object) -> str:
    """Say which card a device of this process is; empty if it is none, or nobody can tell."""
    if not str(device).startswith("cuda"):
        return ""
    number = str(device).partition(":")[2] or "0"
    cards = visible().found
    return str(cards[int(number)]) if number.isdecimal() and int(number) < len(cards) else ""
