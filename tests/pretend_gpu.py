"""A GPU that is not there: tensors that claim another device and compute on the CPU.

Whoever mixes them with tensors of the CPU gets the error a real GPU would give, and every wait of
the host for the device is counted. It shows where tensors live, not whether a kernel is right.
"""

from collections import Counter
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

NAME = "lazy"
"""A device that torch knows in every build, and that nobody uses."""
GPU, CPU = torch.device(NAME), torch.device("cpu")
WAITS = ("_local_scalar_dense", "nonzero", "equal", "is_nonzero", "_unique2", "unique_dim")
"""Operations whose result the host needs before it can go on."""
aten = torch.ops.aten
waits: Counter = Counter()


class GpuTensor(torch.Tensor):
    """Claims to be elsewhere, keeps its numbers in a tensor of the CPU."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner):
        tensor = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), inner.stride(), inner.storage_offset(), dtype=inner.dtype,
            device=GPU,
        )  # fmt: skip
        tensor.inner = inner
        return tensor

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return execute(func, args, kwargs or {})

    def tolist(self):
        waits["tolist"] += 1
        return self.inner.tolist()

    def numpy(self, *, force=False):
        raise TypeError(f"can't convert {NAME} device type tensor to numpy")

    def __repr__(self, **_):
        return f"{NAME} {self.inner}"


class GpuGenerator(torch.Generator):
    """A generator of the CPU that claims to be elsewhere."""

    known: dict[int, "GpuGenerator"] = {}
    """By address: below Python, the class of a generator is forgotten.

    They are kept, or a later generator of the CPU could get the address of one that is gone.
    """

    def __init__(self):
        self.known[self._cdata] = self  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def device(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return GPU


def to_gpu(tensor):
    """Put numbers onto the pretended GPU without anybody waiting; they share memory."""
    return GpuTensor(tensor)


def from_gpu(tensor):
    """Look at the numbers without anybody waiting."""
    return tensor.inner if isinstance(tensor, GpuTensor) else tensor


def execute(func, args, kwargs):
    """Run an operation on the CPU, if its tensors are all where they should be."""
    name = func.overloadpacket.__name__
    flat, _ = tree_flatten((args, kwargs))
    tensors = [item for item in flat if isinstance(item, torch.Tensor)]
    on_gpu = any(isinstance(item, GpuTensor) for item in tensors)
    wanted = kwargs.get("device")
    where = torch.device(wanted) if wanted is not None else GPU if on_gpu else CPU
    if wanted is not None:
        kwargs = {**kwargs, "device": CPU}
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}
    if name in ("_to_copy", "copy_"):
        if on_gpu and any(not isinstance(item, GpuTensor) for item in tensors):
            waits[name] += 1
        if on_gpu and where == CPU:
            waits["to the host"] += 1
        if not on_gpu and where == GPU and tensors and tensors[0].numel() > 1:
            waits["from the host"] += 1
    elif on_gpu:
        _refuse_strangers(name, args, tensors)
        if name in WAITS:
            waits[name] += 1
    elif name == "index" and any(isinstance(item, GpuTensor) for item in flat):
        raise RuntimeError("indices should be either on cpu or on the same device")
    generator = kwargs.get("generator")
    if generator is not None and (generator._cdata in GpuGenerator.known) != (where == GPU):
        raise RuntimeError(f"{name}: expected a '{where.type}' device type for generator")
    result = func(*tree_map(from_gpu, args), **tree_map(from_gpu, kwargs))
    if name == "_local_scalar_dense" or where == CPU:
        return result
    known = {id(item.inner): item for item in tensors if isinstance(item, GpuTensor)}
    return tree_map(
        lambda item: (
            known.get(id(item), GpuTensor(item))
            if isinstance(item, torch.Tensor) and not isinstance(item, GpuTensor)
            else item
        ),
        result,
    )


def _refuse_strangers(name, args, tensors):
    allowed = ()
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        if not isinstance(args[0], GpuTensor):
            raise RuntimeError("indices should be either on cpu or on the same device")
        allowed = tuple(id(item) for item in args[1] if item is not None)
    for item in tensors:
        if not isinstance(item, GpuTensor) and item.dim() and id(item) not in allowed:
            raise RuntimeError(f"{name}: Expected all tensors to be on the same device")


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return execute(func, args, kwargs or {})


@contextmanager
def pretended_gpu():
    """Within, torch has one GPU."""
    real = torch.Generator

    class Generator(real):
        def __new__(cls, device="cpu"):
            return GpuGenerator() if torch.device(device).type == GPU.type else real(device)

    # Lists become tensors of the CPU first, and then go where they shall, in sight of `Dispatch`.
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        with (
            patch("torch.Generator", Generator),
            # Tensors of inference mode cannot be of a class of ours.
            patch("torch.inference_mode", lambda on=True: torch.no_grad() if on else nullcontext()),
            Dispatch(),
        ):
            yield
    finally:
        torch._C._set_only_lift_cpu_tensors(False)
