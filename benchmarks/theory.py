"""Learn one G_frame-invariant function with all six encoders: who fits it, what augmentation buys.

    python -m benchmarks.theory [--out docs/figures] [--seeds 3] [--steps 4000] [--quick]

Equal parameters, equal data, equal steps; nothing is tuned per encoder. Writes the figure and, in
the page beside the figure folder, the table of docs/theory.md. --quick without --out only prints.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
import torch
from matplotlib.ticker import LogLocator, NullFormatter
from torch import Tensor, nn

from analysis.docs import replace_section
from s2m.config.encoder import EncoderCfg, cards
from s2m.console.errors import UserError, run_command
from s2m.encoders.registry import make_encoder
from s2m.encoders.symmetry import audit, permute, sample

FRAMES, SLOTS, FEATURES = 4, 5, 3
BLUE, VERMILLION = "#0072B2", "#D55E00"
ERRORS = ("train", "fixed", "permuted")


@dataclass
class Study:
    """Sizes of one training; the same for every encoder."""

    train: int = 4096
    test: int = 8192
    steps: int = 4000
    batch: int = 64
    rate: float = 2e-3


@dataclass
class Result:
    """Errors of one trained encoder as parts of the target's variance."""

    encoder: str
    augmented: bool
    parameters: int
    train: float
    fixed: float
    permuted: float
    change: float
    """Mean change of the prediction under G_frame, in deviations of the target."""


def histories(count: int, generator: torch.Generator) -> Tensor:
    """Draw 1 to 5 balls on straight paths, ball i in slot i: x, y and the activity flag."""
    active = torch.randint(1, SLOTS + 1, (count, 1), generator=generator)
    flag = (torch.arange(SLOTS) < active).float()[:, None, :, None]
    start = torch.rand(count, 1, SLOTS, 2, generator=generator) * 2 - 1
    velocity = torch.randn(count, 1, SLOTS, 2, generator=generator) / 2
    time_axis = torch.linspace(0, 1, FRAMES).view(1, FRAMES, 1, 1)
    path = start + velocity * time_axis
    return torch.cat([path, torch.ones_like(path[..., :1])], -1) * flag


def target(balls: Tensor) -> Tensor:
    """Return tanh(r_4 - r_1) + sin(2 u_2) tanh(c_3), a continuous G_frame-invariant function (B,).

    r_t, u_t and c_t are the sums over the balls of frame t of x^2 + y^2, x y and x.
    """
    x, y = balls[..., 0], balls[..., 1]
    r, u, c = (x**2 + y**2).sum(-1), (x * y).sum(-1), x.sum(-1)
    return torch.tanh(r[:, 3] - r[:, 0]) + torch.sin(2 * u[:, 1]) * torch.tanh(c[:, 2])


class Regressor(nn.Module):
    """An encoder with a linear head."""

    def __init__(self, name: str) -> None:
        """Build the encoder at the desktop budget."""
        super().__init__()
        cfg = EncoderCfg(name)
        self.encoder = make_encoder(cfg, FRAMES, SLOTS, FEATURES)
        self.head = nn.Linear(cfg.embedding, 1)

    def forward(self, balls: Tensor) -> Tensor:
        """Predict the target of balls (B, H, N, d): (B, 1)."""
        return self.head(self.encoder(balls, balls[..., -1] > 0.5))


def shuffled(balls: Tensor, generator: torch.Generator) -> Tensor:
    """Permute the slots of every frame independently."""
    return permute(sample("G_frame", *balls.shape[:3], generator=generator), balls)


def fit(model: Regressor, balls: Tensor, study: Study, augment: bool, seed: int) -> None:
    """Minimise the squared error with Adam under a cosine learning rate."""
    # Two streams: the order of the batches is the same with and without augmentation.
    order, slots = (torch.Generator().manual_seed(2 * seed + i) for i in range(2))
    truth = target(balls)
    optimizer = torch.optim.Adam(model.parameters(), lr=study.rate, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, study.steps)
    for _ in range(study.steps):
        rows = torch.randint(len(balls), (study.batch,), generator=order)
        batch = shuffled(balls[rows], slots) if augment else balls[rows]
        loss = (model(batch).squeeze(-1) - truth[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


@torch.no_grad()
def error(model: Regressor, balls: Tensor) -> float:
    """Return the mean squared error as a part of the target's variance."""
    truth = target(balls)
    return ((model(balls).squeeze(-1) - truth).square().mean() / truth.var()).item()


def run(name: str, augment: bool, seed: int, study: Study) -> Result:
    """Train and test one encoder; a seed sets the data, the weights and the order."""
    data = torch.Generator().manual_seed(seed)
    train, test = histories(study.train, data), histories(study.test, data)
    torch.manual_seed(seed)
    model = Regressor(name)
    fit(model, train, study, augment, seed)
    return Result(
        name,
        augment,
        sum(parameter.numel() for parameter in model.encoder.parameters()),
        error(model, shuffled(train, data) if augment else train),
        error(model, test),
        error(model, shuffled(test, data)),
        audit(model, test, 1, data)["symmetry/frame_mean"] / target(test).std().item(),
    )


def run_all(study: Study, seeds: int) -> Iterator[Result]:
    """Train every encoder with and without augmentation, and tell the progress."""
    cells = [(n, a, s) for n in cards() for a in (False, True) for s in range(seeds)]
    start = time.monotonic()
    for number, (name, augment, seed) in enumerate(cells, 1):
        result = run(name, augment, seed, study)
        print(
            f"{number:3}/{len(cells)} {time.monotonic() - start:4.0f} s  {name:18} "
            f"augment={augment!s:5} seed={seed}  fixed {result.fixed:.4f}  "
            f"permuted {result.permuted:.4f}",
            flush=True,
        )
        yield result


def select(results: list[Result], name: str, augment: bool) -> list[Result]:
    """Return the seeds of one cell."""
    return [r for r in results if r.encoder == name and r.augmented == augment]


def markdown(results: list[Result]) -> str:
    """Return the table: mean over seeds, smallest and largest in brackets."""
    lines = [
        "| encoder | group | parameters | augmented | train | test, slots kept "
        "| test, slots permuted | change under G_frame |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in cards():
        for augment in (False, True):
            cell = select(results, name, augment)
            columns = [[getattr(r, field) for r in cell] for field in (*ERRORS, "change")]
            spread = [f"{mean(c):.3g} ({min(c):.3g} to {max(c):.3g})" for c in columns]
            lead = [f"`{name}`", cards()[name].group, f"{cell[0].parameters:,}"]
            lines.append("| " + " | ".join([*lead, "yes" if augment else "no", *spread]) + " |")
    return "\n".join(lines)


def draw(results: list[Result], folder: Path) -> None:
    """Write theory.svg and theory.png: one row per encoder, one panel per test."""
    plt.rcParams.update({"svg.hashsalt": "theory", "font.size": 10})
    figure, panels = plt.subplots(
        1, 2, figsize=(9, 3.6), sharex=True, sharey=True, layout="constrained"
    )
    titles = {"fixed": "Tested with slots kept over time", "permuted": "Tested with slots permuted"}
    styles = {
        False: (VERMILLION, "o", "trained with slots kept over time"),
        True: (BLUE, "s", "trained with slots permuted per frame"),
    }
    for panel, (field, title) in zip(panels, titles.items(), strict=True):
        for row, name in enumerate(cards()):
            for augment, (colour, marker, label) in styles.items():
                values = [getattr(r, field) for r in select(results, name, augment)]
                height = row + (0.16 if augment else -0.16)
                panel.plot([min(values), max(values)], [height] * 2, color=colour, lw=2)
                panel.plot(values, [height] * len(values), "|", color=colour, ms=7, mew=1.2)
                panel.plot(
                    mean(values), height, marker, color=colour, ms=7,
                    mec="white", mew=0.6, label=label if row == 0 else None,
                )  # fmt: skip
        for edge in (1.5, 3.5):
            panel.axhline(edge, color="0.8", lw=0.8)
        panel.axvline(1, color="0.4", lw=0.8, ls=":", label="predicting the mean")
        panel.set(xscale="log", xlabel="mean squared error / target variance")
        panel.set_title(title, fontsize=11)
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(axis="x", color="0.92")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    groups = {"G_0": "$G_0$", "G_diag": r"$G_\mathrm{diag}$", "G_frame": r"$G_\mathrm{frame}$"}
    labels = [f"{name}  {groups[cards()[name].group]}" for name in cards()]
    panels[0].set_yticks(range(len(cards())), labels)
    panels[0].invert_yaxis()
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "theory.svg", metadata={"Date": None})
    figure.savefig(folder / "theory.png", dpi=160)


def main(words: list[str]) -> None:
    """Run the study and write its table and figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="folder of the figure (default docs/figures)")
    parser.add_argument("--seeds", type=int, default=3, help="repetitions (default 3)")
    parser.add_argument("--steps", type=int, default=Study.steps, help="of each training")
    parser.add_argument("--quick", action="store_true", help="400 steps, one seed")
    options = parser.parse_args(words)
    if min(options.seeds, options.steps) < 1:
        raise UserError("--seeds and --steps: allowed 1 or more")
    torch.set_num_threads(1)
    steps, seeds = (400, 1) if options.quick else (options.steps, options.seeds)
    results = list(run_all(Study(steps=steps), seeds))
    print("\n" + markdown(results))
    if options.quick and options.out is None:
        return
    folder = options.out or Path(__file__).parents[1] / "docs/figures"
    draw(results, folder)
    page = folder.parent / "theory.md"
    if page.exists():
        replace_section(page, "theory table", markdown(results))


if __name__ == "__main__":
    run_command(main)
