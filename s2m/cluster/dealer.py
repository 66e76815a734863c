"""Which run of this machine gets which GPU: each one of its own, unless some are asked to share.

A card that is lost to its runs is tried once more, then left out. Runs that need no card are none
of its business.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from s2m.cluster.plan import PlannedRun
from s2m.config.cluster import LocalCfg
from s2m.console.errors import UserError
from s2m.run.cards import Gpu, installed, visible

TRIES = 2
"""Times that a card may be lost to runs before it is left out."""


class Dealer:
    """Hands cards to runs and takes them back."""

    def __init__(self, cards: Iterable[Gpu], per_card: int, wanted: Iterable[str]) -> None:
        """Have cards for the runs named in `wanted`, and `per_card` runs on each at a time."""
        self.cards, self.per_card, self.wanted = list(cards), per_card, frozenset(wanted)
        self._held: dict[str, tuple[Gpu, int]] = {}
        """The card of each run that is running, and how often that one was lost before."""
        self._losses: Counter[Gpu] = Counter()

    @property
    def places(self) -> int:
        """Runs that all cards take at a time."""
        return len(self.cards) * self.per_card

    def has_room(self) -> bool:
        """Tell whether a card can take one more run."""
        return any(self._load(card) < self.per_card for card in self.cards)

    def deal(self, run: str) -> Gpu:
        """Hand a run the card with the fewest others, of these rather one that was never lost."""
        card = min(self.cards, key=lambda card: (self._load(card), self._losses[card]))
        self._held[run] = card, self._losses[card]
        return card

    def holds(self, run: str) -> bool:
        """Tell whether a run has a card."""
        return run in self._held

    def take_back(self, run: str, lost: bool = False) -> str:
        """Take the card of a run that has ended; say so if it is left out from now on."""
        card, before = self._held.pop(run)
        if not lost or card not in self.cards:
            return ""
        # Runs that share a card lose it together, once.
        self._losses[card] = max(self._losses[card], before + 1)
        gone = _is_gone(card)
        if self._losses[card] < TRIES and not gone:
            return ""
        self.cards.remove(card)
        why = "is gone" if gone else f"was lost {TRIES} times"
        return f"GPU {card} {why}: it is left out for the rest of the sweep"

    def describe(self, workers: int) -> str:
        """Say which cards are used, and how many runs are executed at a time, at most `workers`."""
        most = min(n for n in (self.places, len(self.wanted), workers) if n)
        used = ", ".join(map(str, self.cards[:most]))
        shared = (
            "each on one of its own" if self.per_card == 1 else f"up to {self.per_card} on each"
        )
        return f"GPUs: {most} run{'s' * (most > 1)} at a time, {shared}: {used}"

    def _load(self, card: Gpu) -> int:
        return sum(held == card for held, _ in self._held.values())


def _is_gone(card: Gpu) -> bool:
    """Tell whether nvidia-smi lists other cards but not this one."""
    left = [other.uuid for other in installed().found]
    return bool(card.uuid and left) and card.uuid not in left


def make_dealer(cells: Sequence[PlannedRun], cluster: LocalCfg) -> Dealer | None:
    """Return who hands cards to the cells that need one; None if none does, or none is wanted."""
    devices = {cell.folder.path.name: cell.cfg.sim.device for cell in cells if cell.cfg.sim.on_gpu}
    named = cluster.named()
    if not devices or named == []:
        return None
    for device in devices.values():
        if device.partition(":")[2] not in ("", "0"):
            raise UserError(
                f"sim.device = {device}: a run gets a GPU of its own and sees it as cuda:0; "
                f"cluster.gpus={device.partition(':')[2]} chooses that card, cluster.gpus=none "
                "assigns none"
            )
    there = visible()
    if not there.found:
        raise UserError(
            f"sim.device = {next(iter(devices.values()))} needs a GPU and there is none "
            f"({there.trouble}): use sim=mujoco or sim.device=cpu; cluster.gpus=none does not check"
        )
    if named is None:
        return Dealer(there.found, cluster.runs_per_gpu, devices)
    cards = {card.name: card for card in there.found}
    if absent := [name for name in named if name not in cards]:
        raise UserError(
            f"cluster.gpus = {cluster.gpus}: there is no GPU {', '.join(absent)}; "
            f"allowed: {', '.join(cards)}"
        )
    return Dealer([cards[name] for name in named], cluster.runs_per_gpu, devices)
