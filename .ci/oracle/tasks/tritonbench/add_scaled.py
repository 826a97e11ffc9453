"""A task in the form of TritonBench-T: a function of torch, a line of 146 signs, and a test that returns results by name."""

import torch


def add_scaled(input, other, *, alpha=1):
    """input (Tensor), other (Tensor), alpha (Number): returns `input + alpha * other`, with broadcasting."""
    return torch.add(input, other, alpha=alpha)


##################################################################################################################################################


def test_add_scaled():
    results = {}
    torch.manual_seed(0)
    results["test_case_1"] = add_scaled(torch.randn(7, 13), torch.randn(7, 13))
    results["test_case_2"] = add_scaled(torch.randn(50), torch.randn(50), alpha=0.5)
    results["test_case_3"] = add_scaled(torch.randn(3, 11), torch.randn(11), alpha=2)
    return results


result_gold = test_add_scaled()
