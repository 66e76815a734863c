"""Parameter counts of the six encoders at each budget: python -m benchmarks.encoders.

--write puts the table into docs/encoders.md.
"""

import sys
from pathlib import Path

from analysis.docs import replace_section
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.encoders.registry import parameter_table
from s2m.robot.model import MAX_BALLS
from s2m.task.observations import BALL_FRAMES, BALL_SIZE

BUDGETS = ("demo", "desktop", "paper")
PAGE = Path(__file__).parent.parent / "docs" / "encoders.md"


def markdown() -> str:
    columns = {}
    for budget in BUDGETS:
        cfg = load(RunCfg, [f"budget={budget}"]).encoder
        columns[budget] = list(parameter_table(cfg, BALL_FRAMES, MAX_BALLS, BALL_SIZE))
    lines = ["| encoder | group | " + " | ".join(BUDGETS) + " |", "|---|---|" + "---:|" * 3]
    for row, size in enumerate(columns["demo"]):
        counts = " | ".join(f"{columns[budget][row].parameters:,}" for budget in BUDGETS)
        lines.append(f"| `{size.name}` | {size.group} | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
    if "--write" in sys.argv:
        replace_section(PAGE, "sizes", markdown())
