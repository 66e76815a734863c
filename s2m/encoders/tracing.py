"""Whether torch records a graph, which must fit other data than the example's."""

import torch


def is_traced() -> bool:
    """Tell whether torch records a graph (export, ONNX, compile, trace) that must fit all data."""
    tracing = torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
    return tracing or torch.compiler.is_compiling()
