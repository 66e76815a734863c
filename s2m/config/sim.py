"""The settings of each simulator; `implementation` names the class that steps it."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from s2m.config.fields import setting

INSTALL_ISAAC = "install torch, Isaac Sim and Isaac Lab by the commands of docs/isaaclab.md"
"""Their order and constraints decide whether they fit together, so only that page lists them."""


@dataclass
class BallPhysicsCfg:
    """Contact parameters of the balls; the paper gives the radius only."""

    mass: float = setting(0.2, "mass of a ball, kg", above=0)
    friction: float = setting(0.8, "sliding friction ball-plate", low=0)
    spin: float = setting(0.002, "torsional friction ball-plate, m", low=0)
    rolling: float = setting(0.0008, "rolling friction ball-plate, m", low=0)
    ball_friction: float = setting(0.2, "sliding friction ball-ball", low=0)


SIMULATORS: dict[str, type["SimCfg"]] = {}
"""The settings of each simulator by its name."""


class SimCfg:
    """What every simulator's settings have; a subclass registers itself by its name."""

    implementation: ClassVar[str]
    """`module:Class` of the simulator, imported when the first one is made."""
    name: str
    timestep: float
    decimation: int

    def __init_subclass__(cls) -> None:
        """Let `sim=NAME` choose these settings."""
        if "implementation" not in cls.__dict__:  # only shared by others
            return
        SIMULATORS[cls.implementation.partition(":")[0].rpartition(".")[2]] = cls

    @property
    def dt(self) -> float:
        """Control period, s."""
        return self.timestep * self.decimation

    @property
    def on_gpu(self) -> bool:
        """Whether it computes on a GPU."""
        return str(getattr(self, "device", "cpu")).startswith("cuda")


Engine = TypeVar("Engine", bound="MujocoPhysicsCfg")


@dataclass
class MujocoPhysicsCfg(SimCfg):
    """What MuJoCo in C and MuJoCo Warp share; docs/task.md says how the values were checked."""

    timestep: float = setting(0.01, "physics step, s", above=0, high=0.02)
    decimation: int = setting(2, "physics steps per control step", low=1)
    integrator: str = setting(
        "discrete", "MuJoCo integrator", choices=["discrete", "implicitfast", "implicit", "Euler"]
    )
    iterations: int = setting(50, "cap of the Newton iterations", low=1)
    line_search: int = setting(50, "cap of the steps of each line search", low=1)
    tolerance: float = setting(1e-10, "improvement at which the solver stops", above=0)
    impratio: float = setting(30.0, "friction to normal impedance ratio", above=0)
    max_speed: float = setting(500.0, "speed at which a state counts as exploded", above=0)
    ball: BallPhysicsCfg = field(default_factory=BallPhysicsCfg)

    def same_physics(self, kind: type[Engine], **more: Any) -> Engine:
        """Return the settings of an engine with this physics."""
        names = [item.name for item in fields(MujocoPhysicsCfg)]
        return kind(**{name: getattr(self, name) for name in names}, **more)


@dataclass
class MujocoCfg(MujocoPhysicsCfg):
    """The MuJoCo simulator on the CPU."""

    implementation = "s2m.sim.mujoco:MujocoSimulator"
    name: str = setting("mujoco", "which simulator", choices=["mujoco"])
    threads: int = setting(1, "threads of the physics pool", low=1, high=256, decides=False)
    keep_unstable: int = setting(
        20, "most offending states kept on disk per process", low=0, decides=False
    )


@dataclass
class WarpCfg(MujocoPhysicsCfg):
    """MuJoCo Warp: the same model on a GPU, or on the CPU to prove it; see docs/gpu.md."""

    implementation = "s2m.sim.warp:WarpSimulator"
    name: str = setting("warp", "which simulator", choices=["warp"])
    device: str = setting(
        "cuda:0", "where physics and learning run: cuda:0, cuda:1, ... or cpu", decides=False
    )
    graph: bool = setting(True, "capture a control step as a graph", decides=False)


@dataclass
class IsaacLabCfg(SimCfg):
    """The Isaac Lab simulator on a GPU; docs/isaaclab.md says what has been tested."""

    implementation = "s2m.sim.isaaclab:IsaacLabSimulator"
    name: str = setting("isaaclab", "which simulator", choices=["isaaclab"])
    device: str = setting(
        "cuda:0", "where physics and learning run: cuda:0, cuda:1, ... or cpu", decides=False
    )
    timestep: float = setting(0.005, "physics step, s", above=0, high=0.02)
    decimation: int = setting(4, "physics steps per control step", low=1)
    env_spacing: float = setting(2.5, "distance of neighbouring environments, m", above=0)
    contact_force: float = setting(
        1e-8, "a ball that presses harder on the plate touches it, N (paper, appendix C.2)", low=0
    )
    position_iterations: int = setting(8, "solver iterations on positions", low=1, high=255)
    velocity_iterations: int = setting(1, "solver iterations on velocities", low=0, high=255)
    enhanced_determinism: bool = setting(
        False, "ask PhysX for better repeatability, at the cost of speed"
    )
    max_depenetration: float = setting(1.0, "largest speed of depenetration, m/s", above=0)
    max_contacts: int = setting(2**23, "contacts the GPU has room for, of all environments", low=1)
    max_patches: int = setting(
        2**20, "contact patches the GPU has room for; 4096 environments need some 80,000", low=1
    )
    max_speed: float = setting(500.0, "speed at which a state counts as exploded", above=0)
    ball: BallPhysicsCfg = field(default_factory=BallPhysicsCfg)


@dataclass
class DummyCfg(SimCfg):
    """The simulator without physics, for tests of everything above it."""

    implementation = "s2m.sim.dummy:DummySimulator"
    name: str = setting("dummy", "which simulator", choices=["dummy"])
    dt: float = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        0.02, "control period, s", above=0
    )
    pause: float = setting(
        0.0, "real time that a control step waits, s: a run without work", low=0, decides=False
    )
