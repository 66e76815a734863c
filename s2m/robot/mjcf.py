"""MJCF of the robot and k balls.

Every contact is an explicit pair, so nothing else is ever tested: wheels with the floor, balls with
the plate and with each other. A lost ball therefore falls through the trunk and ends the episode.
"""

from xml.etree import ElementTree as ET

from s2m.config.sim import MujocoPhysicsCfg
from s2m.robot.model import BALL_RADIUS, LEGS, MAX_BALLS, Link, Robot, Shape

BALL_COLOURS = (
    (0.84, 0.37, 0.0), (0.0, 0.45, 0.7), (0.94, 0.89, 0.26), (0.0, 0.62, 0.45), (0.8, 0.47, 0.65)
)  # fmt: skip
"""Okabe-Ito colours, distinguishable by colour-blind readers."""


def text(*values: float) -> str:
    """Write numbers for an XML attribute, short and exact."""
    return " ".join(repr(round(float(v), 9)) for v in values)


def mjcf(robot: Robot, k: int, cfg: MujocoPhysicsCfg, *, pictures: bool = False) -> str:
    """Return the model with k balls; `pictures` adds lights, floor texture and a sharper image."""
    root = ET.Element("mujoco", model=f"s2m-k{k}")
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", eulerseq="XYZ")
    option = ET.SubElement(
        root, "option", timestep=text(cfg.timestep), integrator=cfg.integrator, solver="Newton",
        iterations=str(cfg.iterations), ls_iterations=str(cfg.line_search),
        tolerance=str(cfg.tolerance), cone="elliptic", jacobian="sparse",
        impratio=text(cfg.impratio),
    )  # fmt: skip
    # Without autoreset a diverging state stays visible to the simulator's guard.
    ET.SubElement(option, "flag", island="disable", autoreset="disable")
    if pictures:
        _scenery(root)
    world = ET.SubElement(root, "worldbody")
    floor = ET.SubElement(world, "geom", name="floor", type="plane", size="0 0 1")
    floor.attrib.update(contype="0", conaffinity="0")
    if pictures:
        floor.set("material", "floor")
    bodies = {}
    for link in robot.links:
        parent = bodies[link.parent] if link.parent else world
        bodies[link.name] = _body(parent, link, robot.stance_height)
    if pictures:
        # The light travels with the robot, so that its shadow stays sharp.
        sun = ET.SubElement(bodies["base"], "light", type="directional", mode="trackcom")
        sun.attrib.update(pos="0.7 -0.7 2", dir="-0.35 0.35 -1", diffuse=".5 .5 .5")
    for i in range(k):
        _ball(world, i, cfg)
    _contacts(root, k, cfg)
    _actuators(root, robot)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def _scenery(root: ET.Element) -> None:
    ET.SubElement(root, "statistic", extent="1", center="0 0 0.2")
    visual = ET.SubElement(root, "visual")
    ET.SubElement(visual, "global", offwidth="1280", offheight="960")
    ET.SubElement(visual, "headlight", ambient=".38 .38 .38", diffuse=".35 .35 .35")
    ET.SubElement(visual, "quality", shadowsize="2048")
    asset = ET.SubElement(root, "asset")
    ET.SubElement(
        asset, "texture", type="skybox", builtin="gradient", rgb1=".93 .95 .98",
        rgb2=".72 .8 .9", width="256", height="256",
    )  # fmt: skip
    ET.SubElement(
        asset, "texture", name="floor", type="2d", builtin="checker", rgb1=".80 .82 .84",
        rgb2=".70 .73 .76", width="300", height="300",
    )  # fmt: skip
    ET.SubElement(asset, "material", name="floor", texture="floor", texrepeat="2 2",
                  texuniform="true")  # fmt: skip


def _body(parent: ET.Element, link: Link, stance: float) -> ET.Element:
    position = link.position if link.parent else (0.0, 0.0, stance)
    body = ET.SubElement(parent, "body", name=link.name, pos=text(*position))
    if link.parent is None:
        ET.SubElement(body, "freejoint", name="root")
    ET.SubElement(
        body, "inertial", pos=text(*link.com), mass=text(link.mass),
        diaginertia=text(*link.inertia),
    )  # fmt: skip
    if link.joint:
        joint = ET.SubElement(
            body, "joint", name=link.joint.name, axis=text(*link.joint.axis),
            armature=text(link.joint.armature),
        )  # fmt: skip
        if link.joint.limits:
            joint.set("range", text(*link.joint.limits))
    for shape in link.shapes:
        _geom(body, shape, link.name)
    return body


def _geom(body: ET.Element, shape: Shape, name: str) -> None:
    geom = ET.SubElement(
        body, "geom", type=shape.kind, size=text(*shape.size), pos=text(*shape.position),
        contype="0", conaffinity="0", rgba=text(*shape.colour, 1.0 if shape.visible else 0.0),
    )  # fmt: skip
    if any(shape.rpy):
        geom.set("euler", text(*shape.rpy))
    if shape.collides:
        geom.set("name", name)
    if not shape.visible:
        geom.set("group", "3")


def _ball(world: ET.Element, i: int, cfg: MujocoPhysicsCfg) -> None:
    body = ET.SubElement(world, "body", name=f"ball{i}", pos=text(0.5 + i, 0, BALL_RADIUS))
    ET.SubElement(body, "freejoint", name=f"ball{i}")
    moment = 0.4 * cfg.ball.mass * BALL_RADIUS**2
    ET.SubElement(body, "inertial", pos="0 0 0", mass=text(cfg.ball.mass),
                  diaginertia=text(moment, moment, moment))  # fmt: skip
    ET.SubElement(body, "geom", name=f"ball{i}", type="sphere", size=text(BALL_RADIUS),
                  contype="0", conaffinity="0",
                  rgba=text(*BALL_COLOURS[i % MAX_BALLS], 1))  # fmt: skip


def _contacts(root: ET.Element, k: int, cfg: MujocoPhysicsCfg) -> None:
    contact = ET.SubElement(root, "contact")
    ball = cfg.ball

    def pair(a: str, b: str, condim: int, friction: tuple[float, ...]) -> None:
        ET.SubElement(contact, "pair", geom1=a, geom2=b, condim=str(condim),
                      friction=text(*friction), solref="0.02 1",
                      solimp="0.9 0.95 0.001 0.5 2")  # fmt: skip

    for leg in LEGS:
        pair("floor", f"{leg}_wheel", 3, (1.0, 1.0, 0.005, 0.0001, 0.0001))
    for i in range(k):
        pair("plate", f"ball{i}", 6,
             (ball.friction, ball.friction, ball.spin, ball.rolling, ball.rolling))  # fmt: skip
    for i in range(k):
        for j in range(i + 1, k):
            pair(f"ball{i}", f"ball{j}", 3, (ball.ball_friction, ball.ball_friction, 0, 0, 0))


def _actuators(root: ET.Element, robot: Robot) -> None:
    actuator = ET.SubElement(root, "actuator")
    for joint in robot.leg_joints:
        ET.SubElement(
            actuator, "position", name=joint.name, joint=joint.name, kp=text(joint.stiffness),
            kv=text(joint.damping), forcerange=text(-joint.effort, joint.effort),
        )  # fmt: skip
    for joint in robot.hub_joints:
        ET.SubElement(
            actuator, "velocity", name=joint.name, joint=joint.name, kv=text(joint.damping),
            forcerange=text(-joint.effort, joint.effort),
        )  # fmt: skip
