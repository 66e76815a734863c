"""Isaac Lab's real source on a pretended Omniverse.

The wheel's modules run as they are: AppLauncher, SimulationContext, InteractiveScene, Articulation,
RigidObjectCollection, ContactSensor, actuators and all configs. What they stand on is replaced: the
application, the USD stage, the importers that fill it, the timeline and PhysX (`views`). Modules of
which only the names matter are mocks.
"""

import builtins
import faulthandler
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import types
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock
from xml.etree import ElementTree

import numpy as np
import pytest

from s2m.sim import isaaclab_app

from .physics import World
from .stage import Stage
from .views import SimulationView

ROOT = Path(__file__).parents[3]
SOURCE = Path(os.environ.get("S2M_ISAACLAB_SOURCE", ROOT / ".isaaclab"))
"""The unpacked wheel; `make .isaaclab/ready` fetches it."""
OMNIVERSE = {"isaacsim", "omni", "pxr", "carb", "usdrt", "warp"}
OPTIONAL = {
    "prettytable", "toml", "flatdict", "gymnasium", "trimesh", "h5py", "einops", "hid", "pyglet",
    "torchvision", "transformers", "websockets", "moviepy", "cv2", "skimage", "tqdm", "junitparser",
    "PIL",
}  # fmt: skip
"""Libraries of Isaac Lab that are mocked while it is imported, where they are not installed."""
PLAY, STOP = 0, 2


def require_source():
    """Skip, or fail where the source must be there, if the wheel has not been fetched."""
    if (SOURCE / "isaaclab" / "source").is_dir():
        return
    reason = f"no Isaac Lab source in {SOURCE}: make .isaaclab/ready"
    if os.environ.get("S2M_REQUIRE_ISAACLAB"):
        pytest.fail(reason)
    pytest.skip(reason)


class AnyClass(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


def _anything(self, name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock(name=name)


class AnyModule(types.ModuleType):
    """A module in which every capitalised name is a class and every other one a function."""

    __path__: list[str] = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__ == "pxr":
            return importlib.import_module(f"pxr.{name}")
        value = MagicMock(name=name)
        value.__name__ = name
        if name[:1].isupper():
            body = {"__init__": lambda self, *args, **kwargs: None, "__getattr__": _anything}
            value = AnyClass(name, (), body)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names):
        self.names = names

    def find_spec(self, fullname, path, target=None):
        if fullname.split(".")[0] in self.names:
            spec = importlib.machinery.ModuleSpec(fullname, self, origin="fake", is_package=True)
            return spec
        return None

    def create_module(self, spec):
        return AnyModule(spec.name)

    def exec_module(self, module):
        pass


class Kit:
    """The application, its stage, its timeline and its physics."""

    def __init__(self):
        self.stage = Stage()
        self.callbacks: list[tuple[int, int, Callable[[object], object]]] = []
        self.device = "cpu"
        self.view: SimulationView | None = None
        self.app_config: dict = {}
        self.robots: list[dict] = []
        """Settings with which a robot was imported."""

    @property
    def world(self) -> World:
        assert self.view is not None
        return self.view.world

    def new_stage(self):
        self.stage, self.view, self.callbacks = Stage(), None, []
        return True

    def get_stage(self):
        return self.stage

    def create_subscription_to_pop_by_type(self, kind, function, order=0):
        entry = (order, kind, function)
        self.callbacks.append(entry)
        kept = self.callbacks

        def unsubscribe():
            if entry in kept:
                kept.remove(entry)

        return types.SimpleNamespace(unsubscribe=unsubscribe)

    def play(self):
        envs = self.stage.GetPrimAtPath("/World/envs").GetChildren()
        self.view = SimulationView(self.stage, World(len(envs), self.device))
        for _, _, function in sorted(
            (entry for entry in self.callbacks if entry[1] == PLAY), key=lambda entry: entry[0]
        ):
            function(None)

    def install(self):
        """Fill the mocked modules with what must behave."""
        kit = self

        class SimulationApp:
            def __init__(self, config, experience):
                kit.app_config = dict(config)
                assert Path(experience).name == "isaaclab.python.headless.kit"
                builtins.ISAAC_LAUNCHED_FROM_TERMINAL = False  # pyright: ignore
                signal.signal(signal.SIGINT, lambda *_: None)
                assert len(sys.argv) == 1, "the application would read our words as its own"

            def close(self):
                raise SystemExit("the application ended the process")

            def __getattr__(self, name):
                return MagicMock(name=name)

        class SimulationContext:
            _instance = None

            def __init__(self, physics_dt, rendering_dt, sim_params, physics_prim_path, **rest):
                assert type(self)._instance is None, "there is another context"
                SimulationContext._instance = type(self)._instance = self
                self.physics_dt, self.parameters, self.playing = physics_dt, sim_params, False
                self.backend = rest["backend"]
                kit.stage.DefinePrim(physics_prim_path).apis.add("PhysxSceneAPI")

            @classmethod
            def instance(cls):
                return SimulationContext._instance

            @classmethod
            def clear_instance(cls):
                SimulationContext._instance = cls._instance = None

            @property
            def physics_sim_view(self):
                return kit.view

            def clear_all_callbacks(self):
                kit.callbacks.clear()

            def get_physics_dt(self):
                return self.physics_dt

            def is_playing(self):
                return self.playing

            def is_stopped(self):
                return not self.playing

            def reset(self, soft=False):
                self.playing = True
                kit.play()

            def step(self, render=True):
                assert not render, "nothing is ever drawn"
                kit.world.step(self.physics_dt)

        class Cloner:
            def __init__(self, spacing=0.0, stage=None):
                self.spacing = spacing

            def define_base_env(self, path):
                kit.stage.DefinePrim(path)

            def generate_paths(self, root, count):
                return [f"{root}_{i}" for i in range(count)]

            def clone(self, source_prim_path, prim_paths, **rest):
                assert rest["replicate_physics"]
                side = int(np.ceil(np.sqrt(len(prim_paths))))
                origins = []
                for i, path in enumerate(prim_paths):
                    if path != source_prim_path:
                        kit.stage.copy(source_prim_path, path)
                    row, column = divmod(i, side)
                    origins.append([row * self.spacing, column * self.spacing, 0.0])
                return np.array(origins) - np.array(origins).mean(0)

            def replicate_physics(self, **rest):
                pass

            def filter_collisions(self, scene, root, envs, global_paths):
                assert global_paths == ["/World/ground"]

        class Cache:
            Get = classmethod(lambda cls: cls())

            def GetId(self, stage):
                return types.SimpleNamespace(ToLongInt=lambda: 1)

        class SimulationManager:
            get_physics_sim_view = staticmethod(lambda: kit.view)
            get_physics_sim_device = staticmethod(lambda: kit.device)
            get_backend = staticmethod(lambda: "torch")
            register_callback = staticmethod(lambda *args, **kwargs: 1)
            deregister_callback = staticmethod(lambda *args: None)

            @staticmethod
            def set_physics_sim_device(device):
                kit.device = device

        class Table:
            def __init__(self, *columns):
                self.custom_format, self.align = {}, {}

            def add_row(self, row):
                pass

            def get_string(self):
                return ""

        settings = MagicMock()
        settings.get = {"/rtx/rendermode": ""}.get
        put = {
            "isaacsim": {"SimulationApp": SimulationApp, "__file__": str(SOURCE / "isaacsim.py")},
            "isaacsim.core.api.simulation_context": {"SimulationContext": SimulationContext},
            "isaacsim.core.cloner": {"GridCloner": Cloner, "Cloner": Cloner},
            "isaacsim.core.simulation_manager": {"SimulationManager": SimulationManager},
            "isaacsim.core.version": {"get_version": lambda: ("", "", 5, 1, 0, "", "", "")},
            "omni.timeline": {
                "TimelineEventType": types.SimpleNamespace(PLAY=PLAY, STOP=STOP),
                "get_timeline_interface": lambda: types.SimpleNamespace(
                    get_timeline_event_stream=lambda: kit
                ),
            },
            "omni.usd": {"get_context": lambda: kit},
            "omni.physics.tensors.impl.api": {"create_simulation_view": lambda *_: kit.view},
            "carb.settings": {"get_settings": lambda: settings},
            "pxr.UsdUtils": {"StageCache": Cache},
            "prettytable": {"PrettyTable": Table},
        }
        for name, values in put.items():
            module = importlib.import_module(name)
            for key, value in values.items():
                setattr(module, key, value)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(importlib.import_module(parent), child, module)
        os.environ["EXP_PATH"] = str(SOURCE)

    def patch_spawners(self):
        """Replace what would write USD: shapes and the URDF importer."""
        kit = self
        from isaaclab.scene import interactive_scene  # pyright: ignore[reportMissingImports]
        from isaaclab.sim import converters  # pyright: ignore[reportMissingImports]
        from isaaclab.sim.schemas import schemas  # pyright: ignore[reportMissingImports]
        from isaaclab.sim.spawners.from_files import (  # pyright: ignore[reportMissingImports]
            from_files,
        )
        from isaaclab.sim.spawners.shapes import shapes  # pyright: ignore[reportMissingImports]

        def shape(prim_path, cfg, prim_type, attributes, *place, stage=None):
            assert not kit.stage.GetPrimAtPath(prim_path).IsValid()
            prim = kit.stage.DefinePrim(prim_path)
            if cfg.rigid_props is not None:
                prim.apis.add("RigidBodyAPI")

        class Converter:
            def __init__(self, cfg):
                assert Path(cfg.asset_path).is_absolute() and cfg.asset_path.count(".") == 1
                assert Path(cfg.usd_dir).parent == Path(cfg.asset_path).parent
                self.usd_path = cfg.asset_path
                kit.robots.append(cfg.to_dict())

        def robot(prim_path, usd_path, cfg, translation, orientation):
            tree = ElementTree.parse(usd_path).getroot()
            merged = {
                joint.find("child").get("link")  # pyright: ignore
                for joint in tree.iter("joint")
                if cfg.merge_fixed_joints and joint.get("type") == "fixed"
            }
            for link in tree.iter("link"):
                if link.get("name") not in merged:
                    prim = kit.stage.DefinePrim(f"{prim_path}/{link.get('name')}")
                    prim.apis.add("RigidBodyAPI")
            root = kit.stage.DefinePrim(f"{prim_path}/base")
            root.apis.add("ArticulationRootAPI")
            return kit.stage.GetPrimAtPath(prim_path)

        def activate(prim_path, threshold=0.0, stage=None):
            for prim in kit.stage.GetPrimAtPath(prim_path).walk():
                if "RigidBodyAPI" in prim.apis:
                    prim.apis.add("PhysxContactReportAPI")

        shapes._spawn_geom_from_prim_type = shape
        converters.UrdfConverter = Converter
        from_files._spawn_from_usd_file = robot
        schemas.activate_contact_sensors = activate
        interactive_scene.XformPrimView = MagicMock()


class Installation:
    """Isaac Lab in this process, until it is taken out again."""

    def __init__(self):
        self.path = list(sys.path)
        # Warp may be installed, and in use by other tests.
        self.aside = {
            name: sys.modules.pop(name)
            for name in list(sys.modules)
            if name.split(".")[0] in OMNIVERSE
        }
        self.modules = set(sys.modules)
        missing = {name for name in OPTIONAL if importlib.util.find_spec(name) is None}
        self.libraries = Finder(missing)
        self.finder = Finder(OMNIVERSE)
        sys.meta_path[:0] = [self.finder, self.libraries]
        sys.path.append(str(SOURCE))
        self.kit = Kit()
        self.kit.install()
        isaaclab_app.start_app("cpu")
        importlib.import_module("isaaclab.scene")
        self.kit.patch_spawners()
        # Nobody else shall find a mock where a library is missing.
        sys.meta_path.remove(self.libraries)
        for name in list(sys.modules):
            if name.split(".")[0] in missing:
                del sys.modules[name]

    def remove(self):
        faulthandler.cancel_dump_traceback_later()  # of simulators that nobody closed
        isaaclab_app._app = None
        sys.meta_path.remove(self.finder)
        sys.path[:] = self.path
        for name in set(sys.modules) - self.modules:
            if name.split(".")[0] in OMNIVERSE | {"isaaclab", "isaaclab_contrib", "app_launcher"}:
                del sys.modules[name]
        sys.modules.pop("s2m.sim.isaaclab_scene", None)
        sys.modules.update(self.aside)
