"""MuJoCo Warp on the CPU: bits, snapshots, groups, buffers; and where it cannot run."""

import gc
import importlib
import shutil
import sys
from dataclasses import asdict, replace
from types import SimpleNamespace

import mujoco
import pytest
import torch

from benchmarks.warp import closed_loop
from s2m import audit
from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.config.sim import MujocoCfg, WarpCfg
from s2m.config.task import SpawnCfg, TaskCfg
from s2m.console.errors import UserError
from s2m.env.agents import AGENTS
from s2m.env.transport import TransportEnv
from s2m.evaluate import main as evaluate
from s2m.policy.stored import Trained
from s2m.robot.model import ROBOT
from s2m.run.folder import RunFolder
from s2m.sim.mujoco import MujocoSimulator
from s2m.stages.execute import execute
from s2m.task.spawn import spawn
from tests.sim.benches import GAP
from tests.sim.kernels import IMPATIENT

pytestmark = pytest.mark.usefixtures("kernels")
MIXED = [5, 1, 1, 3, 5, 2, 4, 3]


def make(counts, simulator=None, **changes):
    from s2m.sim.warp import WarpSimulator

    counts = torch.tensor(counts)
    sim = (simulator or WarpSimulator)(WarpCfg(device="cpu", **changes), len(counts), GAP)
    sim.reset(torch.arange(len(counts)), begin(counts))
    return sim


def begin(counts):
    return spawn(SpawnCfg(), counts, torch.Generator().manual_seed(0))


def wobble(n, steps, seed=1):
    """Random joint targets and hub speeds of a lively controller."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield (
            torch.randn(n, 12, generator=generator) * 0.03,
            torch.randn(n, 4, generator=generator),
        )


def roll(sim, steps=20, seed=1):
    unsolved = 0.0
    for action in wobble(sim.num_envs, steps, seed):
        sim.step(*action)
        unsolved += sim.unsolved.item()
    return unsolved / steps


def everything(sim):
    return torch.cat([value.double().flatten() for value in sim.snapshot().values()])


@pytest.mark.parametrize("counts", [[5] * 4, MIXED], ids=["5", "mixed"])
def test_a_graph_repeats_its_launches_to_the_last_bit_and_itself_too(counts):
    sims = [make(counts), make(counts), make(counts, graph=False)]
    for sim in sims:
        roll(sim)
        gc.collect()  # nothing that a graph needs may have been freed
        roll(sim, seed=2)
    first, second, launched = map(everything, sims)
    assert torch.equal(first, second) and torch.equal(first, launched)


def test_a_step_does_not_need_smooth_accelerations():
    """They are skipped for speed; with a warm start the engine never looks at them."""
    quick, thorough = make([3] * 4), make([3] * 4)
    thorough._model(3)[1].opt.run_qacc_smooth = True
    thorough._regroup()
    roll(quick)
    roll(thorough)
    assert torch.equal(everything(quick), everything(thorough))


def test_a_capture_leaves_garbage_collection_as_it_was():
    assert gc.isenabled()
    make([1])
    assert gc.isenabled()
    gc.disable()
    try:
        make([1])
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_restore_repeats_bit_for_bit():
    sim = make(MIXED)
    roll(sim, 10)
    saved = sim.snapshot()
    roll(sim)
    first = everything(sim)
    other = make([1] * len(MIXED))
    for again in (sim, other):
        again.restore(saved)
        roll(again)
        assert torch.equal(first, everything(again))


def test_a_snapshot_moves_between_both_mujocos():
    """The same names and layout; what is restored goes on the same way, up to float32."""
    counts = torch.tensor(MIXED)
    in_c = MujocoSimulator(MujocoCfg(), len(MIXED), GAP)
    in_c.reset(torch.arange(len(MIXED)), begin(counts))
    roll(in_c, 20)
    saved, sim = in_c.snapshot(), make([1] * len(MIXED))
    sim.restore(saved)
    taken = sim.snapshot()
    assert {name: value.shape for name, value in taken.items()} == {
        name: value.shape for name, value in saved.items()
    }
    assert list(taken) == list(saved) and sim.qpos.dtype == torch.float32
    for name in saved:
        assert torch.equal(taken[name], saved[name].to(taken[name].dtype)), name
    roll(sim, 10)
    roll(in_c, 10)
    assert torch.allclose(sim.read().ball_position, in_c.read().ball_position, atol=1e-4)
    back = MujocoSimulator(MujocoCfg(), len(MIXED), GAP)
    back.restore(sim.snapshot())
    assert back.qpos.dtype == float
    assert torch.allclose(back.read().balls, sim.read().balls, atol=1e-6)
    roll(sim, 10, seed=3)
    roll(back, 10, seed=3)
    assert torch.allclose(back.read().ball_position, sim.read().ball_position, atol=1e-4)


def test_an_environment_hardly_depends_on_its_neighbours():
    """Not bit for bit as in C: sums over a batch are taken in another order."""
    together, chosen = make(MIXED), [6, 0, 3]
    saved = together.snapshot()
    alone = make([1] * len(chosen))
    alone.restore({name: value[chosen] for name, value in saved.items()})
    for targets, speeds in wobble(len(MIXED), 30):
        together.step(targets, speeds)
        alone.step(targets[chosen], speeds[chosen])
    assert torch.allclose(together.qpos[chosen], alone.qpos, atol=1e-4)


@pytest.mark.parametrize("agent", AGENTS)
def test_mixed_numbers_of_balls(agent):
    cfg = EnvCfg(num_envs=10, task=TaskCfg(episode_steps=6), sim=WarpCfg(device="cpu"))
    env = TransportEnv(cfg, balls=torch.tensor([1, 2, 3, 4, 5] * 2))
    act = AGENTS[agent](env)
    groups = list(env.sim.groups)  # pyright: ignore[reportAttributeAccessIssue]
    for _ in range(8):
        env.step(act())
    assert [group.k for group in groups] == [1, 2, 3, 4, 5] and not env.state.unstable.any()
    assert env.sim.groups == groups, "resets to the same numbers need no other groups"  # pyright: ignore


def test_the_buffers_have_room_for_all_that_can_touch_at_once():
    """Balls in each other and in the plate, wheels in the floor, every joint beyond its limit."""
    sim = make([5])
    host, _ = sim._model(5)
    limited = [joint for joint in range(host.njnt) if host.jnt_limited[joint]]
    for joint in limited:
        sim.qpos[0, host.jnt_qposadr[joint]] = float(host.jnt_range[joint, 1]) + 0.05
    data = mujoco.MjData(host)
    data.qpos[:] = sim.qpos[0].double().numpy()
    mujoco.mj_kinematics(host, data)
    wheels = [host.geom(f"{leg}_wheel") for leg in ("FL", "FR", "RL", "RR")]
    lowest = max(data.geom_xpos[wheel.id, 2] - wheel.size[0] for wheel in wheels)
    sim.qpos[0, 2] -= lowest + 0.01
    for ball in range(5):
        place = torch.tensor([0.0, 0.0, ROBOT.plate_height + 0.05])
        sim.qpos[0, 23 + 7 * ball : 26 + 7 * ball] = sim.qpos[0, :3] + place
        sim.qpos[0, 23 + 7 * ball] += 0.002 * ball
    group = sim.groups[0]
    group.qpos.copy_(sim.qpos)
    import mujoco_warp as mjw

    mjw.forward(group.model, group.data)
    assert group.data.nefc.numpy().tolist() == [group.data.njmax]
    assert group.data.nacon.numpy().tolist() == [group.data.naconmax]
    sim.step(torch.zeros(1, 12), torch.zeros(1, 4))
    assert not sim.lost.any()


@pytest.mark.parametrize("ask", ["reset", "snapshot"])
def test_what_the_engine_has_no_room_for_ends_the_run(ask, monkeypatch):
    """The host hears of it at the next moment at which it waits anyway."""
    import s2m.sim.warp as module

    real = module.mjw.make_data
    monkeypatch.setattr(
        module.mjw, "make_data", lambda *args, **sizes: real(*args, **{**sizes, "nconmax": 2})
    )
    sim = make([3, 3])
    sim.step(torch.zeros(2, 12), torch.zeros(2, 4))
    with pytest.raises(RuntimeError, match="had no room for all contacts.*BROADPHASE"):
        if ask == "reset":
            sim.reset(torch.arange(2), begin(torch.tensor([3, 3])))
        sim.snapshot()


@pytest.mark.parametrize("k", [1, 5])
def test_unsolved_steps_are_told(k):
    assert roll(make([k] * 8)) == 0.0
    share = roll(make([k] * 8, line_search=IMPATIENT))
    assert 0.5 < share <= 1.0


def test_a_breakdown_is_not_an_unsolved_step():
    sim = make([2, 2])
    sim.qvel[1, 3] = torch.nan
    sim.step(torch.zeros(2, 12), torch.zeros(2, 4))
    assert sim.read().unstable.tolist() == [False, True]
    assert sim.unsolved.item() == 0.0 and sim.unsolved.shape == ()


@pytest.mark.parametrize("device", ["cuda:7", "cuda", "tpu"])
def test_a_device_that_is_not_there(device, monkeypatch):
    import s2m.sim.warp as module

    cfg = WarpCfg(device=device)
    with pytest.raises(UserError, match=f"{device}: allowed here cpu .there is no NVIDIA driver"):
        module.WarpSimulator(cfg, 1, GAP)
    monkeypatch.setattr(module.wp, "get_cuda_driver_version", lambda: (11, 8))
    with pytest.raises(UserError, match="a driver for CUDA 11.8, Warp is built with"):
        module.WarpSimulator(cfg, 1, GAP)


def test_a_card_that_cannot_capture_a_graph(monkeypatch):
    import s2m.sim.warp as module

    card = SimpleNamespace(alias="cuda:0", is_cuda=True)
    able = {"is_conditional_graph_supported": False, "is_mempool_enabled": False}
    monkeypatch.setattr(module.wp, "get_cuda_devices", lambda: [card])
    monkeypatch.setattr(module.wp, "get_device", lambda name: card)
    for name in able:
        monkeypatch.setattr(module.wp, name, lambda *_, name=name: able[name])
    with pytest.raises(UserError, match="needs a driver for CUDA 12.4"):
        module.find_device("cuda:0", graph=True)
    able["is_conditional_graph_supported"] = True
    with pytest.raises(UserError, match="cuda:0 has no memory pool"):
        module.find_device("cuda:0", graph=True)
    assert module.find_device("cuda:0", graph=False) is card
    able["is_mempool_enabled"] = True
    assert module.find_device("cuda", graph=True) is card


@pytest.mark.parametrize("package", ["mujoco_warp", "warp"])
def test_a_package_that_is_not_installed(package, monkeypatch):
    import s2m.sim.warp as module

    monkeypatch.setitem(sys.modules, "s2m.sim.warp", module)  # put back afterwards
    del sys.modules["s2m.sim.warp"]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"needs the package {package}: pip install -e '.\[warp\]"):
        importlib.import_module("s2m.sim.warp")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A run that was trained on a GPU which this machine has not."""
    root = tmp_path_factory.mktemp("runs")
    words = ["sim=warp", "budget=demo", "budget.num_envs=4", "budget.steps=4", "encoder.width=8",
             "encoder.embedding=8", "budget.iterations=1", "ppo.mini_batches=2"]  # fmt: skip
    here = RunFolder.create(root / "here", asdict(load(RunCfg, [*words, "sim.device=cpu"])))
    execute(here, last="train")
    there = RunFolder.create(root / "there", asdict(load(RunCfg, words)))
    for path in here.path.iterdir():
        if path.name not in ("run.json", "config.yaml"):
            to = there.path / path.name
            if path.is_dir():
                shutil.copytree(path, to, dirs_exist_ok=True)
            else:
                shutil.copy(path, to)
    return there


def test_a_run_of_another_machine_is_looked_at_with_mujoco(elsewhere, capsys, caplog):
    evaluate([f"run={elsewhere.path}", "episodes=1", "levels=[1,2]"])
    assert "no-drop" in capsys.readouterr().out
    audit.main([str(elsewhere.path), "2"])
    lines = ["there: no cuda:0 here for sim=warp; sim=mujoco has the same physics"] * 2
    ours = [record.message for record in caplog.records if record.name.startswith("s2m")]
    assert ours == lines, "one line per command"
    trained = Trained(elsewhere.path)
    assert trained.environment().sim == MujocoCfg()
    assert trained.cfg.sim.name == "warp"


def test_what_counts_is_not_evaluated_with_another_simulator(elsewhere):
    with pytest.raises(UserError, match="sim.device = cuda:0: allowed here cpu"):
        evaluate([f"run={elsewhere.path}", "episodes=1", "store=true"])


def test_a_film_is_made_with_mujoco(tmp_path, capsys, monkeypatch):
    from s2m.policy import film
    from s2m.replay import main as replay

    seen = []

    def episode(shot, *_):
        seen.append(shot.env.sim)
        return [torch.zeros(2, 2, 3, dtype=torch.uint8).numpy()] * 3

    monkeypatch.setattr(film, "_episode", episode)
    replay(["agent=zero", "sim=warp", "sim.ball.mass=0.1", f"out={tmp_path}/a.png"])
    assert "filmed with sim=mujoco" in capsys.readouterr().out
    assert isinstance(seen[0], MujocoCfg) and seen[0].ball.mass == 0.1


@pytest.mark.slow
def test_paths_in_closed_loop_are_those_of_mujoco_in_c():
    """Errors of a step would add up in 200: a rolling friction ten per cent off is seen."""

    def apart(other):
        steps = zip(seen, closed_loop(other, "lqr", 3, steps=200, paths=4)[0], strict=True)
        return max((one.place - two.place)[:, :3].norm(dim=-1).max().item() for one, two in steps)

    there = WarpCfg(device="cpu")
    here = there.same_physics(MujocoCfg)
    seen, unsolved = closed_loop(here, "lqr", 3, steps=200, paths=4)
    assert unsolved == 0 and seen[-1].alive.all() and seen[-1].contact[:, :3].all()
    assert (seen[-1].place - seen[0].place)[:, :3].norm(dim=-1).min() > 5e-4  # they roll
    assert apart(there) < 1e-4
    ball = replace(here.ball, rolling=1.1 * here.ball.rolling)
    assert apart(replace(here, ball=ball)) > 1e-4
