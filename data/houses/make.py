#!/usr/bin/env python3
"""Writes houses.csv, prices by a formula with noise, and houses.pt, a small network that learned them from other rows, and
prints what it reaches on houses.csv in NumPy. (torch 2.11; numbers differ with another version.)

Usage: python make.py FOLDER
"""
import pathlib
import sys

import numpy
import torch

ROWS = 200


def draw(generator, rows):
    area = generator.uniform(30, 200, rows).round(1)
    rooms = numpy.clip((area / 28 + generator.normal(0, 0.8, rows)).round(), 1, 8)
    age = generator.integers(0, 90, rows)
    price = (40 + 2.1 * area + 9 * rooms - 0.8 * age + 0.004 * (age - 45) ** 2 * rooms + generator.normal(0, 12, rows)).round(2)
    return numpy.stack([area, rooms, age], 1).astype("f4"), price.astype("f4")


class Prices(torch.nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.register_buffer("mean", inputs.mean(0))
        self.register_buffer("deviation", inputs.std(0))
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU(),
                                          torch.nn.Linear(16, 1))

    def forward(self, x):
        return 100 * self.layers((x - self.mean) / self.deviation).squeeze(1)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    inputs, prices = map(torch.from_numpy, draw(numpy.random.default_rng(1), 2000))
    model = Prices(inputs)
    steps = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(600):
        steps.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), prices).backward()
        steps.step()
    torch.jit.trace(model.eval(), torch.randn(2, 3)).save(str(folder / "houses.pt"))
    inputs, prices = draw(numpy.random.default_rng(2), ROWS)
    with open(folder / "houses.csv", "w") as table:
        table.write(",address,area,rooms,age,price\n")  # as pandas: a column of row numbers without a name
        for i in range(ROWS):
            area, rooms, age = inputs[i]
            table.write(f'{i},"Main street, {i + 1}",{area:g},{rooms:g},{age:g},{prices[i]:g}\n')
    values = [each.numpy().astype("f8") for each in model.state_dict().values()]
    x = (inputs.astype("f8") - values[0]) / values[1]
    for weight, bias in zip(values[2::2], values[3::2]):
        x = x @ weight.T + bias
        x = numpy.maximum(x, 0) if len(bias) > 1 else x
    wrong = 100 * x[:, 0] - prices.astype("f8")
    print(f"mse {(wrong ** 2).mean():.9g}, mae {abs(wrong).mean():.9g}")


if __name__ == "__main__":
    main()
