"""Writes rates.txt beside this file: the learning rates that PyTorch's schedulers give step by step.

    python tests/runtime/step/recorded/rates.py

Written with PyTorch 2.11.0. A line: the schedule as Troupe has it, the base rate, and the rates of the steps from 0 on.
"""

import pathlib
import warnings

import torch
from torch.optim import lr_scheduler as torch_rates


def optimizer(base):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)


CASES = [
    ("constant", 0.1, 4, lambda o: torch_rates.ConstantLR(o, factor=1)),
    ("linear:total=7", 0.1, 12, lambda o: torch_rates.LinearLR(o, total_iters=7)),
    ("linear:total=5:start=0.01:end=0.5", 0.3, 9, lambda o: torch_rates.LinearLR(o, 0.01, 0.5, 5)),
    ("step:every=3", 0.1, 13, lambda o: torch_rates.StepLR(o, 3)),
    ("step:every=4:gamma=0.7", 2, 17, lambda o: torch_rates.StepLR(o, 4, 0.7)),
    ("cosine:total=10", 0.1, 11, lambda o: torch_rates.CosineAnnealingLR(o, 10)),
    ("cosine:total=6:min=1e-3", 0.1, 20, lambda o: torch_rates.CosineAnnealingLR(o, 6, 1e-3)),
    ("one_cycle:total=20", 0.1, 20, lambda o: torch_rates.OneCycleLR(o, 0.1, 20, cycle_momentum=False)),
    (
        "one_cycle:total=13:rise=0.45:divide=10:final_divide=100:shape=linear",
        0.5,
        13,
        lambda o: torch_rates.OneCycleLR(
            o, 0.5, 13, pct_start=0.45, div_factor=10, final_div_factor=100, anneal_strategy="linear", cycle_momentum=False
        ),
    ),
    ("one_cycle:total=9:rise=0.05", 0.1, 9, lambda o: torch_rates.OneCycleLR(o, 0.1, 9, pct_start=0.05, cycle_momentum=False)),
    ("one_cycle:total=9:rise=1", 0.1, 9, lambda o: torch_rates.OneCycleLR(o, 0.1, 9, pct_start=1.0, cycle_momentum=False)),
    (
        "cosine:total=8:min=1e-4:warmup=4:from=0.1",
        0.2,
        13,
        lambda o: torch_rates.SequentialLR(
            o, [torch_rates.LinearLR(o, 0.1, total_iters=4), torch_rates.CosineAnnealingLR(o, 8, 1e-4)], [4]
        ),
    ),
    (
        "step:every=2:warmup=5",
        0.2,
        12,
        lambda o: torch_rates.SequentialLR(o, [torch_rates.LinearLR(o, 1 / 5, total_iters=5), torch_rates.StepLR(o, 2)], [5]),
    ),
]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lines = []
    for text, base, steps, make in CASES:
        used = optimizer(base)
        schedule = make(used)
        rates = []
        for step in range(steps):
            rates.append(used.param_groups[0]["lr"])
            used.step()
            if step + 1 < steps:
                schedule.step()
        lines.append(" ".join([text, repr(base), *map(repr, rates)]))
    (pathlib.Path(__file__).parent / "rates.txt").write_text("\n".join(lines) + "\n")
