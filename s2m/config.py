"""The schema of a run: every setting, its meaning, unit and range.

This module imports neither torch nor a simulator, so that the commands which only read configs
start at once. Values of the paper carry its section; the others are ours and are listed in
docs/paper-vs-here.md.
"""

from dataclasses import dataclass, field
from typing import Any

from s2m.cluster.config import LocalCfg
from s2m.encoders.config import EncoderCfg
from s2m.errors import UserError
from s2m.run.identity import LEARNER
from s2m.settings import setting

ACTING = (LEARNER, "untrained", "zero", "lqr")
"""Who may act in a run; s2m/controls.py has those that do not learn."""


@dataclass
class CommandCfg:
    """Velocity commands and the smooth reference that the wheels follow."""

    linear_x: float = setting(0.5, "largest forward speed, m/s", low=0, high=1.5)
    linear_y: float = setting(0.2, "largest sideways speed, m/s", low=0, high=1.0)
    yaw: float = setting(0.3, "largest yaw rate, rad/s", low=0, high=1.5)
    standing: float = setting(0.1, "part of the commands that are zero", low=0, high=1)
    resample_steps: int = setting(250, "control steps between two commands", low=1)
    bandwidth: float = setting(
        2.5, "corner of the three lags of the reference, rad/s", above=0, high=50
    )
    steer_rate: float = setting(8, "largest steering speed of the reference, rad/s", above=0)


@dataclass
class ActionCfg:
    """From the policy's 12 numbers to joint-position offsets."""

    leg_scale: float = setting(0.05, "abduction and thigh offset per unit, rad", above=0)
    steer_scale: float = setting(0.005, "steering offset per unit, rad", above=0)
    clip: float = setting(4.0, "largest absolute action", above=0)
    smoothing: float = setting(0.3, "weight of the new action in the low-pass", above=0, high=1)


@dataclass
class NoiseCfg:
    """Half widths of the uniform noise on observed balls, before scaling (paper, appendix C.2)."""

    position: float = setting(0.01, "position noise, m", low=0)
    velocity: float = setting(0.2, "velocity noise, m/s", low=0)
    orientation: float = setting(0.05, "orientation noise, rad", low=0)
    angular: float = setting(0.2, "angular velocity noise, rad/s", low=0)


@dataclass
class SpawnCfg:
    """Where balls start: near the best packing of their number, mirrored and jittered."""

    jitter: list[float] = setting(
        [0.045, 0.018, 0.010, 0.008, 0.004],
        "largest shift of a ball from the packing per axis, for k = 1..5, m",
        low=0, high=0.05, length=5,
    )  # fmt: skip
    spread: float = setting(1.01, "factor on the packing, so that balls do not touch", low=1.0)
    gap: float = setting(0.0002, "least clearance between two balls at spawn, m", low=0)
    speed: float = setting(0.02, "largest starting speed per axis, rolling, m/s", low=0)


@dataclass
class RewardCfg:
    """Weights of the reward terms (paper, appendix C.1); terms are multiplied by the control dt."""

    margin: float = setting(3.0, "mean support margin")
    tail: float = setting(1.25, "CVaR_0.4 of the support margins")
    edge: float = setting(-15.0, "part of the balls outside the plate")
    spacing: float = setting(1.5, "mean pair distance, clipped at d_max")
    spacing_tail: float = setting(0.75, "CVaR_0.4 of the pair distances")
    dangerous: float = setting(-20.0, "any margin below the level's danger threshold")
    velocity_xy: float = setting(-0.05, "mean squared horizontal ball speed")
    velocity_z: float = setting(-0.25, "mean vertical ball speed")
    track_linear: float = setting(1.5, "linear velocity tracking")
    track_yaw: float = setting(1.25, "yaw rate tracking")
    height: float = setting(-1.0, "squared height error")
    roll_pitch: float = setting(-1.25, "squared roll and pitch")
    tracking_width: float = setting(0.25, "denominator of both tracking kernels", above=0)
    tail_share: float = setting(0.4, "share of the tail in both CVaR terms", above=0, high=1)
    d_max: float = setting(0.15, "clipping radius of the spacing term, m (unpublished)", above=0)


@dataclass
class TactileCfg:
    """The 16 x 16 Boolean union contact map (paper, equation tac); its constants are unpublished.

    With the paper's formula a footprint is r + delta to each side: any delta >= 0 lets five balls
    cover five sixths of the cells and hide each other, so delta is negative here.
    """

    delta_x: float = setting(-0.035, "widening of the footprint along x, m", low=-0.05)
    delta_y: float = setting(-0.035, "widening of the footprint along y, m", low=-0.05)
    epsilon_z: float = setting(0.005, "height tolerance of a touching ball, m", above=0)


@dataclass
class TaskCfg:
    """The multi-sphere transport MDP (paper, section 3 and appendix C)."""

    episode_steps: int = setting(500, "control steps until the time-out (10 s)", low=1)
    min_height: float = setting(0.18, "base height below which the robot has fallen, m", low=0)
    max_roll: float = setting(90.0, "roll beyond which the robot has fallen, degrees", above=0)
    contact_gap: float = setting(
        0.0025, "a ball this near to resting on the plate touches it, m", above=0
    )
    danger: list[float] = setting(
        [0.15, 0.125, 0.10, 0.075, 0.03],
        "margin below which a state is dangerous, for k = 1..5 (unpublished)",
        low=0, high=1, length=5,
    )  # fmt: skip
    tactile_observation: bool = setting(False, "also return the observation group 'tactile'")
    command: CommandCfg = field(default_factory=CommandCfg)
    action: ActionCfg = field(default_factory=ActionCfg)
    noise: NoiseCfg = field(default_factory=NoiseCfg)
    spawn: SpawnCfg = field(default_factory=SpawnCfg)
    reward: RewardCfg = field(default_factory=RewardCfg)
    tactile: TactileCfg = field(default_factory=TactileCfg)


CRITERIA = ("length_ratio", "margin", "dangerous", "edge", "linear_error", "yaw_error")
"""The six promotion criteria, in the paper's order."""
AT_LEAST = CRITERIA[:2]
"""Those that must be large; the others must be small."""


@dataclass
class CurriculumCfg:
    """Promotion from k to k + 1 balls (paper, appendix D)."""

    start: int = setting(1, "number of balls at the start", low=1, high=5)
    stop: int = setting(5, "number of balls at which promotion ends", low=1, high=5)
    length_ratio: float = setting(0.85, "least mean episode length / longest", low=0, high=1)
    margin: list[float] = setting(
        [0.30, 0.25, 0.20, 0.15], "least mean minimum margin, for 1..4", length=4
    )
    dangerous: list[float] = setting(
        [0.20, 0.25, 0.30, 0.35], "largest part of dangerous steps, for 1..4", low=0, length=4
    )
    edge: list[float] = setting(
        [0.02, 0.03, 0.04, 0.05], "largest part of steps with a ball outside", low=0, length=4
    )
    linear_error: list[float] = setting(
        [0.30, 0.35, 0.40, 0.45], "largest mean velocity error, m/s", low=0, length=4
    )
    yaw_error: list[float] = setting(
        [0.40, 0.45, 0.50, 0.55], "largest mean yaw rate error, rad/s", low=0, length=4
    )
    window: int = setting(200, "episodes in the rolling window (unpublished)", low=1)
    check_steps: int = setting(24, "control steps between two evaluation windows", low=1)
    required_successes: int = setting(1, "windows in a row that must pass", low=1)
    min_stage_episodes: int = setting(2048, "counted episodes before a promotion", low=0)
    min_steps_per_level: int = setting(3200, "control steps before a promotion", low=0)
    stagger: bool = setting(
        True, "start each level at random episode times (those episodes do not count)"
    )

    def check(self) -> None:
        """Refuse a curriculum that begins beyond its end."""
        if self.start > self.stop:
            raise UserError(
                f"curriculum.start = {self.start}: allowed are at most as many balls as "
                f"curriculum.stop = {self.stop}"
            )


@dataclass
class BallPhysicsCfg:
    """Contact parameters of the balls; the paper gives the radius only."""

    mass: float = setting(0.2, "mass of a ball, kg", above=0)
    friction: float = setting(0.8, "sliding friction ball-plate", low=0)
    spin: float = setting(0.002, "torsional friction ball-plate, m", low=0)
    rolling: float = setting(0.0008, "rolling friction ball-plate, m", low=0)
    ball_friction: float = setting(0.2, "sliding friction ball-ball", low=0)


@dataclass
class MujocoCfg:
    """The MuJoCo simulator; the solver settings are the fast and accurate ones of docs/task.md."""

    name: str = setting("mujoco", "which simulator", choices=["mujoco"])
    threads: int = setting(1, "threads of the physics pool", low=1, high=256)
    timestep: float = setting(0.01, "physics step, s", above=0, high=0.02)
    decimation: int = setting(2, "physics steps per control step", low=1)
    integrator: str = setting(
        "discrete", "MuJoCo integrator", choices=["discrete", "implicitfast", "implicit", "Euler"]
    )
    iterations: int = setting(50, "cap of the Newton iterations", low=1)
    impratio: float = setting(30.0, "friction to normal impedance ratio", above=0)
    max_speed: float = setting(500.0, "speed at which a state counts as exploded", above=0)
    keep_unstable: int = setting(20, "most offending states kept on disk per process", low=0)
    ball: BallPhysicsCfg = field(default_factory=BallPhysicsCfg)


@dataclass
class IsaacLabCfg:
    """The Isaac Lab simulator on a GPU; docs/isaaclab.md tells what of it was tried."""

    name: str = setting("isaaclab", "which simulator", choices=["isaaclab"])
    device: str = setting("cuda:0", "where physics and learning run: cuda:0, cuda:1, ... or cpu")
    timestep: float = setting(0.005, "physics step, s", above=0, high=0.02)
    decimation: int = setting(4, "physics steps per control step", low=1)
    env_spacing: float = setting(2.5, "distance of neighbouring environments, m", above=0)
    contact_force: float = setting(
        1e-8, "a ball that presses harder on the plate touches it, N (paper, appendix C.2)", low=0
    )
    position_iterations: int = setting(8, "solver iterations on positions", low=1, high=255)
    velocity_iterations: int = setting(1, "solver iterations on velocities", low=0, high=255)
    enhanced_determinism: bool = setting(
        False, "ask PhysX to repeat itself better, at the cost of speed"
    )
    max_depenetration: float = setting(1.0, "fastest push out of an overlap, m/s", above=0)
    max_contacts: int = setting(2**23, "contacts the GPU has room for, of all environments", low=1)
    max_patches: int = setting(
        2**20, "contact patches the GPU has room for; 4096 environments need some 80,000", low=1
    )
    max_speed: float = setting(500.0, "speed at which a state counts as exploded", above=0)
    ball: BallPhysicsCfg = field(default_factory=BallPhysicsCfg)


@dataclass
class DummyCfg:
    """The simulator without physics, for tests of everything above it."""

    name: str = setting("dummy", "which simulator", choices=["dummy"])
    dt: float = setting(0.02, "control period, s", above=0)
    pause: float = setting(0.0, "real time that a control step waits, s: a run without work", low=0)


SIMULATORS = {"mujoco": MujocoCfg, "isaaclab": IsaacLabCfg, "dummy": DummyCfg}
"""The settings of each simulator by its name."""


@dataclass
class EnvCfg:
    """A TransportEnv: the task, its curriculum and the simulator under it."""

    num_envs: int = setting(256, "parallel environments", low=1)
    permute: bool = setting(True, "draw a fresh slot permutation for every new ball frame")
    seed: int = setting(0, "seed of every random stream", low=0, high=2**63 - 1)
    task: TaskCfg = field(default_factory=TaskCfg)
    curriculum: CurriculumCfg = field(default_factory=CurriculumCfg)
    sim: Any = field(default_factory=MujocoCfg)


@dataclass
class PpoCfg:
    """PPO of rsl-rl; the defaults are the paper's (appendix B) or, where it is silent, rsl-rl's."""

    learning_rate: float = setting(3e-4, "learning rate at the start", above=0)
    kl_target: float = setting(6e-3, "KL that steers the learning rate; 0 keeps it fixed", low=0)
    kl_end: float = setting(
        1.0, "KL target at the end of the budget / at its start; linear in between", above=0, high=1
    )
    epochs: int = setting(5, "passes over the samples of an iteration", low=1)
    mini_batches: int = setting(4, "mini-batches per pass", low=1)
    gamma: float = setting(0.99, "discount", low=0, high=1)
    lam: float = setting(0.95, "lambda of the advantage estimate", low=0, high=1)
    clip: float = setting(0.2, "clip range of ratio and value", above=0)
    entropy: float = setting(0.01, "weight of the entropy bonus", low=0)
    value: float = setting(1.0, "weight of the value loss", low=0)
    max_grad_norm: float = setting(1.0, "largest gradient norm, actor and critic each", above=0)
    init_std: float = setting(1.0, "standard deviation of actions at the start", above=0)
    reward_scale: float = setting(1.0, "factor on rewards before PPO sees them", above=0)


@dataclass
class BudgetCfg:
    """How much a run may spend; a budget file also sets the sizes that go with it."""

    name: str = setting("desktop", "name of the budget, kept with the run")
    version: int = setting(1, "raised whenever a budget file changes what a run computes", low=1)
    iterations: int = setting(600, "PPO iterations, exactly", low=1)
    num_envs: int = setting(256, "parallel environments", low=1)
    steps: int = setting(24, "control steps per environment and iteration", low=1)
    hidden: list[int] = setting([128, 64], "hidden layers of actor and critic", low=1)
    checkpoint_every: int = setting(25, "iterations between two checkpoints", low=1)
    audit_samples: int = setting(4, "group elements per symmetry audit", low=1)


@dataclass
class EvaluationCfg:
    """The episodes that a trained policy is judged by (paper, section 5.1)."""

    levels: list[int] = setting([1, 2, 3, 4, 5], "numbers of balls", low=1, high=5, distinct=True)
    episodes: int = setting(100, "episodes per number of balls", low=1)
    seed: int = setting(1000, "seed of the episodes", low=0, high=2**63 - 1)
    selection_episodes: int = setting(
        100, "episodes with five balls by which the best teacher is chosen, not reported", low=1
    )
    selection_seed: int = setting(2000, "seed of those episodes", low=0, high=2**63 - 1)
    slots: str = setting(
        "as_trained", "order of the ball slots", choices=["as_trained", "permuted", "fixed"]
    )


@dataclass
class TrackingCfg:
    """The mirror of runs on Weights & Biases; docs/wandb.md tells how it works."""

    mode: str = setting(
        "auto", "auto: online if there is an API key, else offline; offline: s2m.sync sends later",
        choices=["auto", "online", "offline", "disabled"],
    )  # fmt: skip
    project: str = setting("s2m-trek", "W&B project")
    entity: str = setting("", "W&B user or team; empty: the key's default")
    artifacts: bool = setting(
        False, "also upload the checkpoints of level changes and the last one"
    )
    init_seconds: float = setting(60.0, "longest wait for W&B at the start", above=0, high=600)
    finish_seconds: float = setting(
        60.0, "longest wait at the end of a run for what is still to be sent", above=0, high=3600
    )
    stop_seconds: float = setting(
        10.0, "the same when the run was asked to leave", above=0, high=600
    )


@dataclass
class RunCfg:
    """One training run: everything that decides its result, and where it is kept."""

    agent: str = setting(
        LEARNER, "who acts: ppo learns, the others are controls that do not", choices=ACTING
    )
    encoder: EncoderCfg = field(default_factory=EncoderCfg)
    permute: bool = setting(True, "draw a fresh slot permutation for every new ball frame")
    seed: int = setting(40, "seed of every random stream", low=0, high=2**63 - 1)
    task: TaskCfg = field(default_factory=TaskCfg)
    curriculum: CurriculumCfg = field(default_factory=CurriculumCfg)
    sim: Any = field(default_factory=MujocoCfg)
    budget: BudgetCfg = field(default_factory=BudgetCfg)
    ppo: PpoCfg = field(default_factory=PpoCfg)
    evaluate: EvaluationCfg = field(default_factory=EvaluationCfg)
    root: str = setting("runs", "folder of all runs")
    experiment: str = setting("default", "folder of this experiment's runs below root")
    cluster: Any = field(default_factory=LocalCfg)
    tracking: TrackingCfg = field(default_factory=TrackingCfg)
    dry: bool = setting(False, "only print what would be done")
    retry_failed: bool = setting(False, "also run what has failed before")

    def check(self) -> None:
        """Refuse what could not be learnt from."""
        samples = self.budget.num_envs * self.budget.steps
        if self.ppo.mini_batches > samples:
            raise UserError(
                f"ppo.mini_batches = {self.ppo.mini_batches}: allowed are at most as many as an "
                f"iteration has samples (budget.num_envs x budget.steps = {samples})"
            )

    def environment(self) -> EnvCfg:
        """Return the part of the config that an environment needs."""
        return EnvCfg(
            num_envs=self.budget.num_envs,
            permute=self.permute,
            seed=self.seed,
            task=self.task,
            curriculum=self.curriculum,
            sim=self.sim,
        )


@dataclass
class FaultsCfg:
    """What a tactile plate may do wrong; no student is taught with faults."""

    dropout: float = setting(0.0, "chance that a touched cell reads empty", low=0, high=1)
    false_contacts: float = setting(0.0, "chance that an empty cell reads touched", low=0, high=1)
    delay: int = setting(0, "control steps by which the map comes late", low=0, high=50)


@dataclass
class ReplayCfg:
    """What `python -m s2m.replay` shows."""

    agent: str = setting("lqr", "who acts: zero, random or lqr")
    run: str = setting("", "run folder whose policy acts instead, in its own task")
    k: str = setting("5", "number of balls, 1 to 5, or all (pictures only)")
    out: str = setting("demo.mp4", "file to write: .mp4 or .gif video, .png picture")
    seconds: float = setting(10.0, "length of the episode, s", above=0, high=60)
    columns: int = setting(5, "moments side by side in a picture", low=1, high=20)
    width: int = setting(640, "width of a frame, pixels", low=64, high=1280)
    height: int = setting(480, "height of a frame, pixels", low=64, high=960)
    seed: int = setting(0, "seed of the episode", low=0, high=2**63 - 1)
    tactile: bool = setting(False, "show the tactile map beside the robot; a student's always is")
    faults: FaultsCfg = field(default_factory=FaultsCfg)
    task: TaskCfg = field(default_factory=TaskCfg)
    sim: Any = field(default_factory=MujocoCfg)


@dataclass
class EvaluateCfg(EvaluationCfg):
    """What `python -m s2m.evaluate` runs."""

    agent: str = setting("lqr", "who acts: zero, random or lqr")
    run: str = setting("", "run folder whose policy acts instead, in its own task")
    store: bool = setting(
        False, "replace the run's own evaluation, by its own settings where none are given"
    )
    out: str = setting("", "file for one row per episode: .csv (empty: none)")
    faults: FaultsCfg = field(default_factory=FaultsCfg)
    task: TaskCfg = field(default_factory=TaskCfg)
    sim: Any = field(default_factory=MujocoCfg)
