"""What Isaac Lab is asked to build: robot, balls, ground and the plate's contact sensor.

It can be imported only when the application runs (`s2m.sim.isaaclab_app`).
"""

# pyright: reportMissingImports=false

from pathlib import Path

import isaaclab.sim as sim_utils
from isaaclab.actuators import ImplicitActuatorCfg
from isaaclab.assets import (
    ArticulationCfg,
    AssetBaseCfg,
    RigidObjectCfg,
    RigidObjectCollectionCfg,
)
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.sensors import ContactSensorCfg
from isaaclab.sim import PhysxCfg, SimulationCfg
from isaaclab.utils import configclass

from s2m.config.sim import BallPhysicsCfg, IsaacLabCfg
from s2m.console.errors import UserError
from s2m.robot.model import BALL_RADIUS, GRAVITY, MAX_BALLS, ROBOT, Joint

WHEEL_FRICTION = 1.0
"""Sliding friction wheel-ground, as in the MJCF."""
GROUND_MARGIN = 50.0
"""Metres of ground beyond the outermost environments, for robots that drive."""
PARK_HEIGHT = 10.0
"""Where balls that are not used wait, m; robots never come near it."""
PARK_SPACING = 0.3

NAMES = [f"ball_{i}" for i in range(MAX_BALLS)]
_PATHS = [f"{{ENV_REGEX_NS}}/Ball_{i}" for i in range(MAX_BALLS)]


@configclass
class TransportSceneCfg(InteractiveSceneCfg):
    """The scene of one environment, cloned for all; the order is the order of creation."""

    ground: AssetBaseCfg | None = None
    robot: ArticulationCfg | None = None
    balls: RigidObjectCollectionCfg | None = None
    plate: ContactSensorCfg | None = None


def parking_place(slot: int) -> tuple[float, float, float]:
    """Where ball `slot` waits while it is not used, seen from the environment's origin."""
    return (PARK_SPACING * slot, 0.0, PARK_HEIGHT)


def frictions(ball: BallPhysicsCfg) -> tuple[float, float, float]:
    """Friction of ball, robot and ground whose means are those of the pairs.

    PhysX knows materials and not pairs. The mean of two balls, of ball and plate and of wheel and
    ground must come out; plate and wheels share a material, the default one of an imported robot.
    """
    robot = 2 * ball.friction - ball.ball_friction
    ground = 2 * WHEEL_FRICTION - robot
    if robot < 0 or ground < 0:
        low = ball.ball_friction / 2
        raise UserError(
            f"sim.ball.friction = {ball.friction}: with sim.ball.ball_friction = "
            f"{ball.ball_friction} Isaac Lab can only have {low:g} to {low + WHEEL_FRICTION:g}"
        )
    return ball.ball_friction, robot, ground


def _material(friction: float) -> sim_utils.RigidBodyMaterialCfg:
    return sim_utils.RigidBodyMaterialCfg(
        static_friction=friction,
        dynamic_friction=friction,
        restitution=0.0,
        friction_combine_mode="average",
    )


def simulation_cfg(cfg: IsaacLabCfg) -> SimulationCfg:
    """Return the engine's settings."""
    _, robot, _ = frictions(cfg.ball)
    return SimulationCfg(
        device=cfg.device,
        dt=cfg.timestep,
        render_interval=cfg.decimation,
        gravity=(0.0, 0.0, -GRAVITY),
        save_logs_to_file=False,
        physics_material=_material(robot),
        physx=PhysxCfg(
            # Better velocities of rolling balls; stabilization would falsify contact forces.
            enable_external_forces_every_iteration=True,
            enable_stabilization=False,
            enable_enhanced_determinism=cfg.enhanced_determinism,
            gpu_max_rigid_contact_count=cfg.max_contacts,
            gpu_max_rigid_patch_count=cfg.max_patches,
        ),
    )


def scene_cfg(cfg: IsaacLabCfg, num_envs: int, urdf: str) -> TransportSceneCfg:
    """Return the scene with the robot of a URDF file (absolute path, one dot in its name)."""
    scene = TransportSceneCfg(num_envs=num_envs, env_spacing=cfg.env_spacing)
    scene.ground = _ground(cfg, num_envs)
    scene.robot = _robot(cfg, urdf)
    scene.balls = RigidObjectCollectionCfg(
        rigid_objects={name: _ball(cfg, slot) for slot, name in enumerate(NAMES)}
    )
    # One sensor body against many filters is the only direction Isaac Lab supports.
    scene.plate = ContactSensorCfg(
        prim_path="{ENV_REGEX_NS}/Robot/plate", filter_prim_paths_expr=list(_PATHS)
    )
    return scene


def _ground(cfg: IsaacLabCfg, num_envs: int) -> AssetBaseCfg:
    """Return a static box: Isaac Lab's ground planes are fetched from the internet."""
    _, _, friction = frictions(cfg.ball)
    side = cfg.env_spacing * (num_envs**0.5 + 1) + 2 * GROUND_MARGIN
    return AssetBaseCfg(
        prim_path="/World/ground",
        spawn=sim_utils.CuboidCfg(
            size=(side, side, 1.0),
            collision_props=sim_utils.CollisionPropertiesCfg(),
            physics_material=_material(friction),
        ),
        init_state=AssetBaseCfg.InitialStateCfg(pos=(0.0, 0.0, -0.5)),
        collision_group=-1,
    )


def _robot(cfg: IsaacLabCfg, urdf: str) -> ArticulationCfg:
    gains = sim_utils.UrdfFileCfg.JointDriveCfg.PDGainsCfg(
        stiffness={joint.name: joint.stiffness for joint in ROBOT.joints},
        damping={joint.name: joint.damping for joint in ROBOT.joints},
    )
    return ArticulationCfg(
        prim_path="{ENV_REGEX_NS}/Robot",
        spawn=sim_utils.UrdfFileCfg(
            asset_path=urdf,
            # By default all users of a machine would convert theirs below one /tmp/IsaacLab.
            usd_dir=str(Path(urdf).with_name("usd")),
            fix_base=False,
            # Otherwise the plate would melt into the base and could not be sensed.
            merge_fixed_joints=False,
            joint_drive=sim_utils.UrdfFileCfg.JointDriveCfg(gains=gains),
            activate_contact_sensors=True,
            articulation_props=sim_utils.ArticulationRootPropertiesCfg(
                enabled_self_collisions=False,
                sleep_threshold=0.0,
                solver_position_iteration_count=cfg.position_iterations,
                solver_velocity_iteration_count=cfg.velocity_iterations,
            ),
        ),
        init_state=ArticulationCfg.InitialStateCfg(
            pos=(0.0, 0.0, ROBOT.stance_height),
            joint_pos={joint.name: joint.default for joint in ROBOT.joints},
        ),
        actuators={"legs": _drives(ROBOT.leg_joints), "hubs": _drives(ROBOT.hub_joints)},
    )


def _drives(joints: tuple[Joint, ...]) -> ImplicitActuatorCfg:
    """Return drives that the engine integrates; an explicit PD is hardly stable at 5 ms."""
    return ImplicitActuatorCfg(
        joint_names_expr=[joint.name for joint in joints],
        stiffness={joint.name: joint.stiffness for joint in joints},
        damping={joint.name: joint.damping for joint in joints},
        armature={joint.name: joint.armature for joint in joints},
        effort_limit_sim={joint.name: joint.effort for joint in joints},
        velocity_limit_sim={joint.name: joint.velocity for joint in joints},
    )


def _ball(cfg: IsaacLabCfg, slot: int) -> RigidObjectCfg:
    friction, _, _ = frictions(cfg.ball)
    return RigidObjectCfg(
        prim_path=_PATHS[slot],
        spawn=sim_utils.SphereCfg(
            radius=BALL_RADIUS,
            activate_contact_sensors=True,
            mass_props=sim_utils.MassPropertiesCfg(mass=cfg.ball.mass),
            rigid_props=sim_utils.RigidBodyPropertiesCfg(
                solver_position_iteration_count=cfg.position_iterations,
                solver_velocity_iteration_count=cfg.velocity_iterations,
                max_depenetration_velocity=cfg.max_depenetration,
                # Rolling resistance is ours; PhysX would damp spinning by default.
                angular_damping=0.0,
                linear_damping=0.0,
                # The contact of a sleeping ball would not be told.
                sleep_threshold=0.0,
            ),
            collision_props=sim_utils.CollisionPropertiesCfg(),
            physics_material=_material(friction),
        ),
        init_state=RigidObjectCfg.InitialStateCfg(pos=parking_place(slot)),
    )
