"""The multi-sphere transport MDP: commands, actions, noise, spawn, rewards and the tactile map."""

from dataclasses import dataclass, field

from s2m.config.fields import setting


@dataclass
class CommandCfg:
    """Velocity commands and the smooth reference that the wheels follow."""

    linear_x: float = setting(0.5, "largest forward speed, m/s", low=0, high=1.5)
    linear_y: float = setting(0.2, "largest sideways speed, m/s", low=0, high=1.0)
    yaw: float = setting(0.3, "largest yaw rate, rad/s", low=0, high=1.5)
    standing: float = setting(0.1, "fraction of the commands that are zero", low=0, high=1)
    resample_steps: int = setting(250, "control steps between two commands", low=1)
    bandwidth: float = setting(
        2.5, "corner of the three lags of the reference, rad/s", above=0, high=50
    )
    acceleration: bool = setting(
        True, "let policies observe the acceleration commanded to the wheels", since="0.2"
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
    arrangement: str = setting(
        "packed", "packed best, or scattered: 3 and 4 balls whose mean is off their middle",
        choices=["packed", "scattered"], since="0.2",
    )  # fmt: skip
    shift: float = setting(
        0.0, "how far the whole group may be shifted, as a fraction of its way to the edge",
        low=0, high=1, since="0.2",
    )  # fmt: skip


@dataclass
class RewardCfg:
    """Weights of the reward terms (paper, appendix C.1); terms are multiplied by the control dt."""

    margin: float = setting(3.0, "mean support margin")
    tail: float = setting(1.25, "CVaR_0.4 of the support margins")
    edge: float = setting(-15.0, "fraction of the balls outside the plate")
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
    tail_share: float = setting(0.4, "fraction of the tail in both CVaR terms", above=0, high=1)
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
        0.0025, "gap below which a ball counts as touching the plate, m", above=0
    )
    danger: list[float] = setting(
        [0.15, 0.125, 0.10, 0.075, 0.03],
        "margin below which a state is dangerous, for k = 1..5 (unpublished)",
        low=0, high=1, length=5,
    )  # fmt: skip
    grace_steps: int = setting(
        0, "first steps of an episode in which strict lets a ball be near the edge", low=0,
        since="0.2",
    )  # fmt: skip
    tactile_observation: bool = setting(False, "also return the observation group 'tactile'")
    command: CommandCfg = field(default_factory=CommandCfg)
    action: ActionCfg = field(default_factory=ActionCfg)
    noise: NoiseCfg = field(default_factory=NoiseCfg)
    spawn: SpawnCfg = field(default_factory=SpawnCfg)
    reward: RewardCfg = field(default_factory=RewardCfg)
    tactile: TactileCfg = field(default_factory=TactileCfg)
