"""The fast ELU is torch's ELU."""

import pytest
import torch

from s2m.encoders.elu import ELU


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
def test_values_and_gradients_are_those_of_torch(dtype, tolerance):
    x = torch.cat([torch.linspace(-20, 20, 2001), torch.tensor([0.0, -1e-8, 1e-8, -200.0, 200.0])])
    results = []
    for function in (ELU(), torch.nn.ELU()):
        leaf = x.to(dtype).requires_grad_()
        out = function(leaf)
        results.append((out, *torch.autograd.grad(out.square().sum(), leaf)))
    for fast, reference in zip(*results, strict=True):
        torch.testing.assert_close(fast, reference, rtol=tolerance, atol=tolerance)


def test_what_is_not_finite_stays_so():
    values = ELU()(torch.tensor([torch.inf, -torch.inf, torch.nan]))
    assert values[0] == torch.inf and values[1] == -1 and values[2].isnan()


def test_a_recorded_graph_holds_torchs_own():
    graph = torch.export.export(ELU(), (torch.randn(3),)).graph
    assert any("elu" in node.name for node in graph.nodes)
