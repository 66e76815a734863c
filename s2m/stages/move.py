"""Let a run go on in the other MuJoCo: from a laptop to a GPU, or back.

Both have the same physics, and a checkpoint of either fits the other. What follows is the same run
statistically, not bit by bit: precision differs, and on a GPU the random numbers do too.
"""

from dataclasses import asdict, fields

from s2m.config.sim import MujocoCfg, MujocoPhysicsCfg, WarpCfg
from s2m.console.errors import UserError, unknown
from s2m.run.events import Events
from s2m.run.files import write_sealed
from s2m.run.folder import RunFolder, unfinished
from s2m.run.lock import RunLock

ENGINES = {"mujoco": MujocoCfg, "warp": WarpCfg}
"""The simulators between which a run can move."""


def move(folder: RunFolder, name: str | None = None, device: str | None = None) -> None:
    """Choose the simulator in which a run goes on, and its device; `None` keeps what it has."""
    old = folder.executed()["sim"]
    for engine in (old["name"], name or old["name"]):
        if engine not in ENGINES:
            raise unknown("simulator to move from or to", engine, ENGINES)
    if not unfinished(folder):
        raise UserError(f"{folder.path} has finished: there is nothing left to do elsewhere")
    new = asdict(ENGINES[name or old["name"]]())
    kept = fields(MujocoPhysicsCfg) if new["name"] != old["name"] else fields(ENGINES[old["name"]])
    new |= {item.name: old[item.name] for item in kept}
    if device is not None:
        if "device" not in new:
            raise UserError(f"sim.device = {device}: sim={new['name']} runs on the CPU")
        new["device"] = device
    if new == old:
        return
    with RunLock.acquire(folder) as lock:
        write_sealed(folder.moved, {"sim": new})
        Events(folder, lock.attempt.number).append(
            "moved", before=_where(old), sim=_where(new), same="statistically, not bit by bit"
        )


def _where(sim: dict[str, object]) -> str:
    return " on ".join(str(sim[key]) for key in ("name", "device") if key in sim)
