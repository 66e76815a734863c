"""The robot as data: one typed description from which MJCF and URDF are generated.

A wheel-legged quadruped with four-wheel independent steering. Each leg is abduction (x), thigh (y),
steering (z) and a hub motor (y); the wheel stands right under its steering axis. The straight line
from every wheel contact through its hip meets the other three in the centre of the plate, so that
swinging all legs alike tilts the plate about its own centre instead of swaying it under the balls.

All link frames are parallel to the base frame (x forward, y left, z up) when every joint is at its
zero angle, which is the nominal stance. Lengths in metres, masses in kg, angles in radians.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

GRAVITY = 9.81
LEGS = ("FL", "FR", "RL", "RR")
LEG_JOINTS = ("abduct", "thigh", "steer")
BALL_RADIUS = 0.055
"""Radius of a ball (paper, section 3)."""
PLATE_SIZE = (0.224, 0.151)
"""Length and width of the back plate (paper, section 3)."""
MAX_BALLS = 5
"""N, the number of ball slots (paper, section 3)."""

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """A visual primitive of a link; only wheels and the plate also collide."""

    kind: Literal["box", "cylinder", "capsule", "sphere"]
    size: tuple[float, ...]
    """Half sizes of a box; radius of a sphere; radius and half length of a cylinder or capsule."""
    position: Vec3 = (0.0, 0.0, 0.0)
    rpy: Vec3 = (0.0, 0.0, 0.0)
    """Fixed-axis roll, pitch, yaw of the shape in the link frame."""
    colour: tuple[float, float, float] = (0.3, 0.3, 0.35)
    collides: bool = False
    visible: bool = True


@dataclass(frozen=True)
class Joint:
    """A hinge with its drive: position-controlled legs, speed-controlled hubs."""

    name: str
    axis: Vec3
    stiffness: float
    """Proportional gain in N m / rad; 0 makes the drive a speed drive."""
    damping: float
    """Derivative gain in N m s / rad."""
    effort: float
    """Largest torque in N m."""
    velocity: float
    """Largest speed in rad / s, used by simulators with a motor model."""
    limits: tuple[float, float] | None = None
    """Joint range; None for an endless joint."""
    default: float = 0.0
    """Angle in the default pose, about which actions are offsets."""
    armature: float = 0.01
    """Reflected rotor inertia in kg m^2."""


@dataclass(frozen=True)
class Link:
    """A rigid body, its place in its parent and the joint that carries it (None: fixed)."""

    name: str
    parent: str | None
    position: Vec3
    mass: float
    com: Vec3
    inertia: Vec3
    """Principal moments about the centre of mass, in the link's axes, kg m^2."""
    joint: Joint | None = None
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Robot:
    """Links in depth-first order plus the few lengths the task needs."""

    links: tuple[Link, ...]
    stance_height: float
    """Height of the base origin over the ground in the default pose."""
    plate_height: float
    """Height of the plate's upper face over the base origin."""
    wheel_radius: float
    wheel_positions: tuple[tuple[float, float], ...]
    """x, y of the wheels' ground contacts in the base frame, in the order of LEGS."""
    hip_ratio: float
    """Part of the way from wheel contact to plate centre at which the hips lie."""

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """All driven joints in link order."""
        return tuple(link.joint for link in self.links if link.joint)

    @cached_property
    def leg_joints(self) -> tuple[Joint, ...]:
        """The 12 position-controlled joints, in the order of actions and observations."""
        return tuple(j for j in self.joints if j.stiffness > 0)

    @cached_property
    def hub_joints(self) -> tuple[Joint, ...]:
        """The 4 hub motors, in the order of LEGS."""
        return tuple(j for j in self.joints if j.stiffness == 0)

    @cached_property
    def default_pose(self) -> np.ndarray:
        """Leg joint angles of the default pose (12,)."""
        return np.array([j.default for j in self.leg_joints])

    @cached_property
    def mass(self) -> float:
        """Mass of the whole robot."""
        return sum(link.mass for link in self.links)

    @cached_property
    def tilt_ratio(self) -> float:
        """Joint angle per plate angle: all thighs (pitch) or abductions (roll) turn by -ratio."""
        return 1.0 / self.hip_ratio

    def placed(self) -> dict[str, np.ndarray]:
        """Position of each link's origin in the base frame at the zero pose."""
        where: dict[str, np.ndarray] = {}
        for link in self.links:
            origin = where[link.parent] if link.parent else np.zeros(3)
            where[link.name] = origin + np.array(link.position)
        return where

    def gravity_offsets(self, payload: float) -> np.ndarray:
        """Joint-target offsets (12,) that carry robot and payload (kg, at the plate centre).

        Statics of the stance: every wheel bears a quarter of the weight, without sideways force;
        a position drive holds the torque tau when its target leads the angle by tau / stiffness.
        """
        where = self.placed()
        support = np.array([0.0, 0.0, (self.mass + payload) * GRAVITY / len(LEGS)])
        offsets = []
        for leg, contact in zip(LEGS, self.wheel_positions, strict=True):
            below = [link for link in self.links if link.name.startswith(f"{leg}_")]
            ground = np.array([*contact, -self.stance_height])
            for start, link in enumerate(below):
                if link.joint is None or link.joint.stiffness == 0:
                    continue
                pivot = where[link.name]
                moment = np.cross(ground - pivot, support)
                for part in below[start:]:
                    arm = where[part.name] + np.array(part.com) - pivot
                    moment += np.cross(arm, [0.0, 0.0, -part.mass * GRAVITY])
                offsets.append(-moment @ np.array(link.joint.axis) / link.joint.stiffness)
        return np.array(offsets)


def _towards(start: np.ndarray, end: np.ndarray, radius: float, **look) -> Shape:
    """Return a capsule between two points of a link frame."""
    along = end - start
    length = float(np.linalg.norm(along))
    pitch = float(np.arccos(along[2] / length))
    yaw = float(np.arctan2(along[1], along[0]))
    centre = (start + end) / 2
    return Shape("capsule", (radius, length / 2), tuple(centre.tolist()), (0.0, pitch, yaw), **look)


def build_robot(
    plate_over_ground: float = 0.34,
    plate_height: float = 0.06,
    track: tuple[float, float] = (0.24, 0.17),
    wheel_radius: float = 0.08,
    hip_ratio: float = 0.6,
) -> Robot:
    """Build the S2M-Trek robot: 21.2 kg, 12 leg joints, 4 hub motors."""
    stance = plate_over_ground - plate_height
    dark, orange = (0.16, 0.18, 0.22), (0.85, 0.45, 0.1)
    length, width = PLATE_SIZE
    links = [
        Link(
            "base", None, (0, 0, 0), 12.4, (0, 0, -0.03), (0.10, 0.22, 0.28),
            shapes=(
                Shape("box", (0.15, 0.085, 0.045), (0, 0, -0.03), colour=dark),
                Shape("box", (0.09, 0.06, 0.022), (0, 0, 0.03), colour=(0.3, 0.33, 0.38)),
            ),
        ),
        Link(
            "plate", "base", (0, 0, plate_height), 0.6, (0, 0, -0.005), (0.0012, 0.0026, 0.0037),
            shapes=(
                Shape("box", (length / 2, width / 2, 0.005), (0, 0, -0.005),
                      colour=(0.07, 0.5, 0.42), collides=True),
            ),
        ),
    ]  # fmt: skip
    contacts = []
    for leg in LEGS:
        side = np.array([1 if leg[0] == "F" else -1, 1 if leg[1] == "L" else -1])
        contact = side * track
        contacts.append((float(contact[0]), float(contact[1])))
        ground = np.array([*contact, -stance])
        hip = ground + hip_ratio * (np.array([0, 0, plate_height]) - ground)
        ankle = ground + np.array([0, 0, wheel_radius]) - hip
        knuckle = ankle + np.array([0, 0, 0.115])
        arm = _towards(np.zeros(3), knuckle, 0.02, colour=(0.62, 0.65, 0.7))
        post = _towards(knuckle, ankle + np.array([0, 0, 0.085]), 0.022, colour=orange)
        links += [
            Link(
                f"{leg}_hip", "base", tuple(hip.tolist()), 0.5, (0, 0, 0), (5e-4, 5e-4, 5e-4),
                Joint(f"{leg}_abduct", (1, 0, 0), 150.0, 6.0, 60.0, 20.0, (-0.8, 0.8)),
                (Shape("sphere", (0.03,), colour=dark),),
            ),
            Link(
                f"{leg}_arm", f"{leg}_hip", (0, 0, 0), 0.7, tuple((knuckle / 2).tolist()),
                (2e-3, 2e-3, 1e-3),
                Joint(f"{leg}_thigh", (0, 1, 0), 150.0, 6.0, 60.0, 20.0, (-0.8, 0.8)),
                (arm, post),
            ),
            Link(
                f"{leg}_fork", f"{leg}_arm", tuple(ankle.tolist()), 0.35, (0, 0, 0.05),
                (6e-4, 6e-4, 3e-4),
                Joint(f"{leg}_steer", (0, 0, 1), 80.0, 3.0, 20.0, 20.0, (-5.0, 5.0)),
                (
                    Shape("box", (0.03, 0.034, 0.006), (0, 0, 0.088), colour=orange),
                    Shape("box", (0.016, 0.004, 0.045), (0, 0.03, 0.044), colour=orange),
                    Shape("box", (0.016, 0.004, 0.045), (0, -0.03, 0.044), colour=orange),
                ),
            ),
            Link(
                f"{leg}_wheel", f"{leg}_fork", (0, 0, 0), 0.5, (0, 0, 0), (9e-4, 1.6e-3, 9e-4),
                Joint(f"{leg}_hub", (0, 1, 0), 0.0, 2.0, 15.0, 40.0, armature=0.002),
                (
                    # A sphere touches the ground in one point, which is both right and fast.
                    Shape("sphere", (wheel_radius,), collides=True, visible=False),
                    Shape("cylinder", (wheel_radius, 0.02), rpy=(np.pi / 2, 0, 0),
                          colour=(0.08, 0.08, 0.09)),
                    Shape("cylinder", (wheel_radius * 0.62, 0.021), rpy=(np.pi / 2, 0, 0),
                          colour=(0.72, 0.74, 0.78)),
                    Shape("box", (wheel_radius * 0.55, 0.022, 0.008), colour=dark),
                ),
            ),
        ]  # fmt: skip
    return Robot(tuple(links), stance, plate_height, wheel_radius, tuple(contacts), hip_ratio)


ROBOT = build_robot()
"""The robot of every run."""
