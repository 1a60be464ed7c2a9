"""Writes clip.txt: what torch.nn.utils.clip_grad_norm_ makes of gradients, in double.

A line per case: the greatest norm, the norm, the factor, and the sum of squares of each parameter.
"""
import pathlib

import torch

torch.manual_seed(20)
lines = []
for case in range(24):
    sizes = [int(torch.randint(1, 40, ())) for _ in range(int(torch.randint(1, 9, ())))]
    spread = 10.0 ** int(torch.randint(-6, 7, ()))
    parameters = [torch.nn.Parameter(torch.zeros(size, dtype=torch.float64)) for size in sizes]
    for each in parameters:
        each.grad = torch.randn(each.shape, dtype=torch.float64) * spread
    if case == 0:
        for each in parameters:
            each.grad.zero_()
    before = [each.grad.clone() for each in parameters]
    greatest = [0.5, 1.0, 1e-3, 100.0][case % 4]
    norm = torch.nn.utils.clip_grad_norm_(parameters, greatest)
    factor = float(parameters[0].grad[0] / before[0][0]) if case else 1.0
    squares = [float((each * each).sum()) for each in before]
    lines.append(" ".join(repr(each) for each in [greatest, float(norm), factor, *squares]))
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
