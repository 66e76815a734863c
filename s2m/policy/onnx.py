"""A policy as an ONNX model, with its description, and how far it is from torch."""

import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from s2m.config.env import EnvCfg
from s2m.console.errors import UserError
from s2m.env.transport import NUM_ACTIONS, TransportEnv
from s2m.policy.model import JointInput
from s2m.policy.stored import Student, Trained, open_policy
from s2m.robot.model import LEG_JOINTS, LEGS, MAX_BALLS
from s2m.run.files import write_json
from s2m.task.commands import COMMAND_SIZE
from s2m.task.observations import BALL_FRAMES, BALL_SIZE, PROPRIO_FRAMES, PROPRIO_SIZE
from s2m.task.tactile import CELLS

TOLERANCE = 1e-4
"""Largest difference of an action that is accepted."""
OPSET = 17


class ExportedTeacher(nn.Module):
    """proprio, command, balls -> actions, clipped as the environment does."""

    def __init__(self, policy: Trained) -> None:
        """Take over the networks of a run."""
        super().__init__()
        self.scaler, self.actor = policy.scaler, policy.actor
        self.clip = policy.cfg.task.action.clip

    def forward(self, proprio: Tensor, command: Tensor, balls: Tensor) -> Tensor:
        """Return (n, 12)."""
        code = self.actor.encode(self.scaler.balls(balls))
        joined = torch.cat([self.scaler.vector(proprio, command), code], -1)
        # The policy splits its first weight to spare a gradient, which ONNX cannot tell.
        first, *rest = self.actor.mlp
        assert isinstance(first, JointInput)
        actions = nn.Sequential(*rest)(F.linear(joined, first.weight, first.bias))
        return actions.clamp(-self.clip, self.clip)


class ExportedStudent(nn.Module):
    """proprio, command, tactile, memory -> actions, memory."""

    def __init__(self, policy: Student) -> None:
        """Take over the network of a student."""
        super().__init__()
        self.scaler, self.student = policy.scaler, policy.actor
        self.clip = policy.cfg.task.action.clip

    def forward(
        self, proprio: Tensor, command: Tensor, tactile: Tensor, memory: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return (n, 12) and the memory for the next step."""
        vector = self.scaler.vector(proprio, command)
        actions, after = self.student.step(vector, tactile, memory)
        return actions.clamp(-self.clip, self.clip), after


class Exported:
    """A policy with its wrapper, inputs and outputs."""

    def __init__(self, run: str) -> None:
        """Open a run folder."""
        self.policy = open_policy(run)
        self.shapes: dict[str, list[int]] = {
            "proprio": [1, PROPRIO_FRAMES * PROPRIO_SIZE],
            "command": [1, COMMAND_SIZE],
        }
        self.outputs = ["actions"]
        if isinstance(self.policy, Student):
            self.module: nn.Module = ExportedStudent(self.policy)
            self.shapes["tactile"] = [1, BALL_FRAMES, CELLS, CELLS]
            self.shapes["memory"] = [1, self.policy.cfg.distill.gru]
            self.outputs.append("memory_after")
        else:
            self.module = ExportedTeacher(self.policy)
            self.shapes["balls"] = [1, BALL_FRAMES, MAX_BALLS, BALL_SIZE]
        self.module.eval()

    def write(self, path: Path) -> None:
        """Write the model."""
        examples = tuple(torch.zeros(shape) for shape in self.shapes.values())
        with torch.no_grad(), warnings.catch_warnings():
            # torch warns of its own older exporter, which alone needs no further packages, and of
            # a GRU without an initial state, which this one has.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                self.module, examples, str(path), input_names=list(self.shapes),
                output_names=self.outputs, opset_version=OPSET, dynamo=False,
            )  # fmt: skip

    def metadata(self, file: str) -> dict[str, Any]:
        """Describe what the model takes and gives, for whoever drives a robot with it."""
        cfg = self.policy.cfg
        sim = cfg.sim
        dt = sim.dt
        return {
            "model": file,
            "run": self.policy.folder.path.name,
            "signature": self.policy.folder.identity.signature,
            "kind": "student" if isinstance(self.policy, Student) else "teacher",
            "checkpoint": self.policy.checkpoint.path.name,
            "rate_hz": 1 / dt,
            "inputs": {name: _MEANING[name] | {"shape": s} for name, s in self.shapes.items()},
            "outputs": {
                "actions": {
                    "shape": [1, NUM_ACTIONS],
                    "joints": [f"{leg}_{joint}" for leg in LEGS for joint in LEG_JOINTS],
                    "clip": cfg.task.action.clip,
                    "low_pass": cfg.task.action.smoothing,
                    "scale_rad": {
                        joint: cfg.task.action.steer_scale
                        if joint == "steer" else cfg.task.action.leg_scale
                        for joint in LEG_JOINTS
                    },
                    "meaning": "offsets from the default pose: the new action with weight low_pass "
                    "in a running mean, times scale_rad; steer adds to the wheel kinematics",
                },
            },
            "scaling": "inside the model: inputs are as an environment shows them",
        }  # fmt: skip


_MEANING: dict[str, dict[str, Any]] = {
    "proprio": {
        "meaning": f"{PROPRIO_FRAMES} frames, oldest first, the first one repeated at the start",
        "frame": "base angular velocity 3 (rad/s), projected gravity 3, joint position minus "
        "default 12 (rad), joint velocity 12 (rad/s), previous clipped action 12, base height (m)",
    },
    "command": {
        "meaning": "forward and sideways speed (m/s), yaw rate (rad/s), and forward and sideways "
        "acceleration of the plate's centre that the wheels are asked for (m/s2)"
    },
    "balls": {
        "meaning": f"{BALL_FRAMES} frames, oldest first, {MAX_BALLS} slots in any order",
        "slot": "position 3 (m), velocity 3 (x0.5), quaternion 4, angular velocity 3 (x0.25), "
        "activity; all zero without a ball in contact",
    },
    "tactile": {
        "meaning": f"{BALL_FRAMES} maps of 0 and 1, oldest first; rows from rear to front, columns "
        "from right to left",
    },
    "memory": {"meaning": "zeros at the start, then memory_after of the step before"},
}


def check(exported: Exported, path: Path, steps: int) -> tuple[float, float]:
    """Drive an episode by torch and ask onnxruntime at every step.

    Returns the largest difference of an action, the memory being each side's own, and the median
    milliseconds of a step of onnxruntime on one core.
    """
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    base: EnvCfg = exported.policy.environment()
    cfg = replace(base, num_envs=1, task=replace(base.task, episode_steps=steps + 1))
    env = TransportEnv(cfg, balls=torch.tensor([3]))
    memory = exported.shapes.get("memory")
    mine = [torch.zeros(memory)] if memory else []
    theirs = [np.zeros(memory, dtype=np.float32)] if memory else []
    largest, spent = 0.0, []
    try:
        for _ in range(steps):
            observed = env.get_observations()
            seen = [observed[name].float().cpu() for name in exported.shapes if name != "memory"]
            with torch.inference_mode():
                result = exported.module(*seen, *mine)
            action, *mine = result if isinstance(result, tuple) else (result,)
            feed = dict(zip(exported.shapes, [*(t.numpy() for t in seen), *theirs], strict=True))
            began = time.perf_counter()
            other, *theirs = session.run(None, feed)
            spent.append(time.perf_counter() - began)
            largest = max(largest, float(np.abs(other - action.numpy()).max()))
            _, _, done, _ = env.step(action.to(env.device))
            if done.any() and memory:
                mine, theirs = [torch.zeros(memory)], [np.zeros(memory, dtype=np.float32)]
    finally:
        env.close()
    return largest, 1000 * float(np.median(spent))


def _runtime() -> Any:
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as error:
        raise UserError(
            f"exporting needs {error.name}: pip install -e '.[export]' -c constraints.txt"
        ) from None
    return onnxruntime


def export(run: str, place: str | None = None, *, steps: int) -> int:
    """Write a run's model beside its checkpoints or elsewhere, and check it; 1 if it differs."""
    torch.set_num_threads(1)
    exported = Exported(run)
    _runtime()
    name = exported.policy.folder.path.name
    out = Path(place) if place else exported.policy.folder.path
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}") from None
    model = out / f"{name}.onnx"
    exported.write(model)
    largest, milliseconds = check(exported, model, steps)
    checked = {"steps": steps, "max_difference": largest, "median_ms": milliseconds}
    write_json(out / f"{name}.json", exported.metadata(model.name) | {"checked": checked})
    print(f"wrote {model} and {name}.json")
    print(
        f"largest difference to torch over {steps} steps: {largest:.1e} (allowed {TOLERANCE:g}); "
        f"{milliseconds:.2f} ms per step on one core"
    )
    return 0 if largest < TOLERANCE else 1
