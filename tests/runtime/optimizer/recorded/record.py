"""Records what the optimizers of PyTorch make of random tensors.

    python tests/runtime/optimizer/recorded/record.py

Written with PyTorch 2.11.0. updates.bin is float32, little-endian: for the 20 steps the gradient, then for each case of
updates.json and each step the weights and the moments after it. The first values of all are the initial weights. The last
elements of a tensor are fewer than a vector of PyTorch's has.
"""

import itertools
import json
import pathlib

import torch

ELEMENTS = 69
STEPS = 20
HERE = pathlib.Path(__file__).parent


def inputs():
    generator = torch.Generator().manual_seed(50)
    weights = torch.randn(ELEMENTS, generator=generator)
    gradients = torch.randn(STEPS, ELEMENTS, generator=generator)
    gradients *= 10 ** (4 * torch.rand(STEPS, ELEMENTS, generator=generator) - 3)
    weights[:4] = torch.tensor([0.0, 1e-40, 1e30, -1e-30])
    gradients[:, 4] = 0
    gradients[:, 5] = 1e-40
    gradients[:, 6] = 1e-25
    gradients[:, 7] = 1e18
    gradients[:, 8] = -3e38
    gradients[::2, 9] = 0
    gradients[:, 0] = 0
    return weights, gradients


def cases():
    rate = {"lr": 0.01}
    for momentum, decay in itertools.product([0, 0.9], [0, 0.01]):
        yield "SGD", {**rate, "momentum": momentum, "weight_decay": decay}
    yield "SGD", {**rate, "momentum": 0.9, "dampening": 0.3}
    yield "SGD", {**rate, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}
    for name, decay, largest in itertools.product(["Adam", "AdamW"], [0, 0.02], [False, True]):
        yield name, {**rate, "weight_decay": decay, "amsgrad": largest}
    yield "Adam", {**rate, "betas": [0.3, 0.6], "eps": 1e-3}
    yield "AdamW", {"lr": 0.7, "betas": [0.5, 0.99], "eps": 1e-8, "weight_decay": 0.1}


MOMENTS = ["momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]


def record_updates():
    weights, gradients = inputs()
    rows = [weights.clone(), *gradients]
    described = []
    for name, options in cases():
        parameter = torch.nn.Parameter(weights.clone())
        optimizer = getattr(torch.optim, name)([parameter], foreach=False, **options)
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
            rows.append(parameter.detach().clone())
            state = optimizer.state[parameter]
            moments = [each for each in MOMENTS if state.get(each) is not None]
            rows.extend(state[each].clone() for each in moments)
        described.append({"optimizer": name, "options": options, "moments": moments})
    (HERE / "updates.bin").write_bytes(torch.stack(rows).numpy().astype("<f4").tobytes())
    table = {"elements": ELEMENTS, "steps": STEPS, "cases": described}
    (HERE / "updates.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    record_updates()
