"""The paper's own numbers, written as runs, give its Table 1 and Table 2 back, cell by cell."""

from dataclasses import asdict, fields

import pytest

from analysis.paper import published
from analysis.tables.headline import ablation, encoders
from analysis.tables.paper import INSIDE, beside_the_paper
from analysis.tables.settings import THRESHOLDS, value_of
from s2m.config.compose import load
from s2m.config.ppo import PpoCfg
from s2m.config.run import RunCfg
from tests.analysis.synthetic import Spec

# As printed in the paper: encoder, invariance, perm, K_max, Adv. to 3, Adv. to 5, strict, no-drop.
TABLE_1 = r"""
\textsc{Flat-MLP} & $G_0$ & T & $\le 1$ & --- & --- & $0\%$ & $0\%$
\textsc{Branch-MLP} & $G_0$ & T & $\le 2$ & --- & --- & $0\%$ & $2\%$
\textsc{DSHC\_OFF} & DIAG & F & $\le 2$ & --- & --- & $0\%$ & $0\%$
\textsc{DSHC} & DIAG & T & $5$ & ${\sim}7.4$k & ${\sim}10.9$k & $68\%$ & $98\%$
Set Transformer & DIAG & T & $5$ & ${\sim}3.6$k & ${\sim}7.7$k & $10\%$ & $94\%$
Set Transformer (PF) & FRAME & T & $5$ & ${\sim}7.5$k & ${\sim}16.4$k & $54\%$ & $100\%$
\textsc{PFDS\_OFF}$^\dagger$ & FRAME & F & $5$ & ${\sim}16.9$k & ${\sim}27.9$k & $41\%$ & $98\%$
\textsc{PFDS} & FRAME & T & $5$ & ${\sim}3.9$k & ${\sim}6.3$k & $41\%$ & $100\%$
"""
TABLE_2 = r"""
\textsc{DSHC} ($G_{\mathrm{diag}}$) & $5$ & ${\sim}7.4$k & $\le 2$ & ---
\textsc{PFDS} ($G_{\mathrm{frame}}$) & $5$ & ${\sim}3.9$k & $5$ & ${\sim}16.9$k
"""

# (strict, no-drop) at k = 5 and the level changes, straight from the printed table.
RUNS = {
    "flat_mlp": ({}, (0, 0)),
    "branch_mlp": ({2: 9000}, (0, 2)),
    "dshc_off": ({2: 9000}, (0, 0)),
    "dshc": ({2: 2000, 3: 7400, 4: 9000, 5: 10900}, (68, 98)),
    "set_transformer": ({2: 2000, 3: 3600, 4: 5000, 5: 7700}, (10, 94)),
    "set_transformer_pf": ({2: 2000, 3: 7500, 4: 9000, 5: 16400}, (54, 100)),
    "pfds_off": ({2: 2000, 3: 16900, 4: 20000, 5: 27900}, (41, 98)),
    "pfds": ({2: 2000, 3: 3900, 4: 5000, 5: 6300}, (41, 100)),
}

ISAAC = {"sim": {"name": "isaaclab"}}


@pytest.fixture
def paper(study_of):
    return study_of(
        *(
            Spec(variant, levels=levels, rates={5: rates}, changes=ISAAC)
            for variant, (levels, rates) in RUNS.items()
        )
    )


def cells(text: str) -> list[list[str]]:
    text = text.replace("DIAG", r"$G_{\mathrm{diag}}$").replace("FRAME", r"$G_{\mathrm{frame}}$")
    return [line.split(" & ") for line in text.strip().splitlines()]


def test_table_1(paper):
    """What we add stands below: the Wilson interval of the episodes."""
    table = encoders(paper)
    ours = [name.head.text for name in table.columns]
    shown = [i for i, name in enumerate(ours) if name not in ("K_η", "runs")]
    assert [ours[i] for i in shown] == [
        "Encoder", "Inv.", "perm", "K_max", "Adv. to 3", "Adv. to 5", "strict", "no-drop",
    ]  # fmt: skip
    found = [[line.cells[i].tex for i in shown] for line in table.lines]
    assert found == cells(TABLE_1)
    assert table.lines[3].cells[-2].under == "[93, 99]"


def test_table_2(paper):
    table = ablation(paper)
    assert table
    shown = (0, 1, 2, 4, 5)  # the paper leaves out Adv. to 5
    assert [[line.cells[i].tex for i in shown] for line in table.lines] == cells(TABLE_2)
    assert [column.bar for column in table.columns] == [False] * 3 + [True] + [False] * 3
    assert [cell.text for cell, _ in table.spans] == ["", "permute=True", "permute=False"]


def test_the_file_of_published_numbers_says_the_same():
    for variant, (levels, (strict, no_drop)) in RUNS.items():
        stored = published()["encoders"][variant]
        assert stored["k_max"] == max(levels, default=1)
        assert stored["advance"] == {3: levels.get(3), 5: levels.get(5)}
        assert (stored["strict"], stored["no_drop"]) == (strict, no_drop)


def test_the_paper_lies_inside_its_own_intervals(paper):
    table = beside_the_paper(paper)
    assert table
    verdicts = {record["verdict"] for record in table.records}
    # Iterations of two single runs tell nothing; everything else must agree.
    assert verdicts == {INSIDE, "one run"}
    assert [cell.text for cell in table.lines[3].cells] == [
        "DSHC", "5 inside (p = 1)", "~7.4k one run", "~10.9k one run", "68% inside (p = 1)",
        "98% inside (p = 1)",
    ]  # fmt: skip


def test_published_settings_are_those_of_the_paper_budget():
    config = asdict(load(RunCfg, ["budget=paper"]))
    for item in published()["hyperparameters"]:
        assert value_of(config, item["setting"]) == pytest.approx(item["value"]), item["name"]
    for item in published()["unpublished"]:
        assert value_of(config, item["setting"]) is not None, item["name"]
    for name in THRESHOLDS:
        assert config["curriculum"][name] == published()["curriculum"][name]


def test_every_setting_of_ppo_is_named_beside_the_paper():
    named = {
        item["setting"] for part in ("hyperparameters", "unpublished") for item in published()[part]
    }
    assert {f"ppo.{field.name}" for field in fields(PpoCfg)} <= named
