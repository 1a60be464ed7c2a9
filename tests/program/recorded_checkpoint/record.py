"""Writes the files beside it: a small model as TorchScript with its first weights (first.pt) and with others (second.pt),
the state dict of the second (state.pt), and a checkpoint of the second as DeepSpeed's PipelineModule.save_state_dict and
DeepSpeedEngine._save_checkpoint lay it out (checkpoint/, DeepSpeed 0.19): layers that are modules have a file with their
state_dict, functions have none. Recorded with PyTorch 2.11: python record.py"""

import collections
import os
import pathlib

import torch
from torch import nn

here = pathlib.Path(__file__).parent


class Block(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.bn1(self.conv1(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.layer1 = nn.Sequential(Block(4), Block(4))
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(36, 5)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.pool(self.layer1(x))
        return self.fc(x.flatten(1))


def net(seed: int) -> Net:
    torch.manual_seed(seed)
    made = Net()
    for name, buffer in made.named_buffers():
        if buffer.is_floating_point():
            buffer.copy_(torch.rand_like(buffer) + 0.5)
        else:
            buffer.fill_(seed)
    return made.eval()


first, second = net(1), net(2)
torch.jit.script(first).save(str(here / "first.pt"))
torch.jit.script(second).save(str(here / "second.pt"))
torch.save(second.state_dict(), here / "state.pt")

layers = [second.conv1, second.bn1, second.relu, second.layer1[0], second.layer1[1], second.pool, lambda x: x.flatten(1), second.fc]
folder = here / "checkpoint" / "step2"
os.makedirs(folder, exist_ok=True)
for index, layer in enumerate(layers):
    if not hasattr(layer, "state_dict"):
        continue
    state = collections.OrderedDict((name, value.clone()) for name, value in layer.state_dict().items())
    torch.save(state, folder / f"layer_{index:02d}-model_states.pt")
state = dict(
    module=None,
    buffer_names=["bn1.running_mean"],
    optimizer=None,
    param_shapes=None,
    lr_scheduler=None,
    data_sampler=None,
    random_ltd=None,
    sparse_tensor_module_names=set(),
    skipped_steps=0,
    global_steps=2,
    global_samples=64,
    dp_world_size=2,
    mp_world_size=1,
    ds_config={"train_batch_size": 32},
    ds_version="0.19.0",
)
state.update({"epoch": 7, "loss": 0.25, "note": "größer", "done": False, "history": [1, 2.5, None], "mean": torch.arange(3.0),
              "nested": {"lr": 1e-3}})
torch.save(state, folder / "mp_rank_00_model_states.pt")
with open(here / "checkpoint" / "latest", "w") as file:
    file.write("step2")
