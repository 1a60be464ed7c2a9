"""Makes the models that are refused, and what the fix of their errors makes of them. Run here: python broken.py"""

import torch
from torch import nn

torch.manual_seed(4)
image = torch.rand(2, 1, 28, 28)


def small():
    """[N, 1, 28, 28] to [N, 4]"""
    return nn.Sequential(nn.AvgPool2d(14), nn.Flatten(1))


class Halves(nn.Module):
    """E0208: it is not known before a run how many tensors the list has."""

    def __init__(self):
        super().__init__()
        self.first, self.second = small(), nn.Linear(4, 20)

    def forward(self, x):
        return self.second(self.first(x)).split(10, 1)


class FirstHalf(Halves):
    def forward(self, x):
        return self.second(self.first(x))[:, :10]


class Branch(nn.Module):
    """E0106 with two stages: one operator, which has a branch that depends on values."""

    def forward(self, x):
        if bool(x.sum() > 0):
            y = x.flatten(1)[:, :10]
        else:
            y = x.flatten(1)[:, 10:20]
        return y


class OnGpu(nn.Module):
    """E0209: its code names a device that the machine may not have."""

    def __init__(self, device):
        super().__init__()
        self.first, self.device = nn.Linear(4, 10), device

    def forward(self, x):
        return self.first(x) + torch.zeros(10, device=self.device)


class Rows(nn.Module):
    """E0209 with --dtype: the trace keeps the type of the first state."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(28, 10, batch_first=True)

    def forward(self, x):
        return self.cell(x.flatten(0, 1))[0][:, -1]


def save(module, name):
    torch.jit.script(module.eval()).save(name)


save(Halves(), "list.pt")
save(FirstHalf(), "tensor.pt")
save(Branch(), "branch.pt")
save(nn.Sequential(small(), OnGpu("cuda")), "on_gpu.pt")
save(nn.Sequential(small(), OnGpu("cpu")), "on_cpu.pt")
torch.jit.trace(nn.Sequential(Rows()).eval(), image).save("lstm_traced.pt")
for name, dtype in (("half", torch.half), ("double", torch.double)):
    save(nn.Sequential(small(), nn.Linear(4, 10)).to(dtype), name + ".pt")
