"""URDF of the robot, for simulators that import it (Isaac Lab); the balls are spawned there."""

from xml.etree import ElementTree as ET

from s2m.robot.mjcf import text
from s2m.robot.model import Link, Robot, Shape


def urdf(robot: Robot) -> str:
    """Return the robot as URDF; the plate stays a link of its own behind a fixed joint."""
    root = ET.Element("robot", name="s2m")
    for link in robot.links:
        _link(root, link)
    for link in robot.links:
        if link.parent:
            _joint(root, link)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _link(root: ET.Element, link: Link) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=text(*link.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=text(link.mass))
    ixx, iyy, izz = (text(moment) for moment in link.inertia)
    ET.SubElement(inertial, "inertia", ixx=ixx, iyy=iyy, izz=izz, ixy="0", ixz="0", iyz="0")
    for number, shape in enumerate(link.shapes):
        if shape.visible:
            visual = _shape(ET.SubElement(element, "visual"), shape)
            material = ET.SubElement(visual, "material", name=f"{link.name}_{number}")
            ET.SubElement(material, "color", rgba=text(*shape.colour, 1))
        if shape.collides:
            _shape(ET.SubElement(element, "collision"), shape)


def _shape(element: ET.Element, shape: Shape) -> ET.Element:
    ET.SubElement(element, "origin", xyz=text(*shape.position), rpy=text(*shape.rpy))
    geometry = ET.SubElement(element, "geometry")
    if shape.kind == "box":
        ET.SubElement(geometry, "box", size=text(*(2 * half for half in shape.size)))
    elif shape.kind == "sphere":
        ET.SubElement(geometry, "sphere", radius=text(shape.size[0]))
    else:
        # URDF has no capsule; a cylinder of the same radius and length stands for it.
        radius, half = shape.size
        ET.SubElement(geometry, "cylinder", radius=text(radius), length=text(2 * half))
    return element


def _joint(root: ET.Element, link: Link) -> None:
    joint = link.joint
    if joint is None:
        kind, name = "fixed", f"{link.name}_fixed"
    else:
        kind, name = ("revolute" if joint.limits else "continuous"), joint.name
    element = ET.SubElement(root, "joint", name=name, type=kind)
    ET.SubElement(element, "origin", xyz=text(*link.position), rpy="0 0 0")
    ET.SubElement(element, "parent", link=link.parent or "")
    ET.SubElement(element, "child", link=link.name)
    if joint is None:
        return
    ET.SubElement(element, "axis", xyz=text(*joint.axis))
    limit = ET.SubElement(
        element, "limit", effort=text(joint.effort), velocity=text(joint.velocity)
    )
    if joint.limits:
        limit.attrib.update(lower=text(joint.limits[0]), upper=text(joint.limits[1]))
