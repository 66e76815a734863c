"""A small table of all runs, made by a job: python table.py ROOT writes ROOT/table.csv."""

import json
import sys
from pathlib import Path

root = Path(sys.argv[1])
lines = ["run,level,iterations,successes"]
for path in sorted(root.glob("*/*/evaluate.json")):
    trained, judged = (
        json.loads(path.with_name(f"{stage}.json").read_text())["result"]
        for stage in ("train", "evaluate")
    )
    found = [path.parent.name, trained["level"], trained["iterations"], judged["successes"]]
    lines.append(",".join(json.dumps(value) for value in found))
(root / "table.csv").write_text("\n".join(lines) + "\n")
