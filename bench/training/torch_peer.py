"""One contestant of training_table.py in Python. It makes steps of a training as it is told: each line on stdin is a number of
steps, and each answer a line of JSON, as training_bench has them.

Usage: python torch_peer.py plain EXPORT MICRO_BATCHES THREADS
       python torch_peer.py schedule1f1b EXPORT MICRO_BATCHES 1 RANK PORT      (both ranks)
       python torch_peer.py deepspeed EXPORT MICRO_BATCHES 1 RANK PORT         (both ranks)

EXPORT is from training_bench --export. The processes of a pipeline find each other on the loopback device.
"""

import json
import os
import sys
import time

kind, export, micro_batches, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rank, port = (int(sys.argv[5]), sys.argv[6]) if len(sys.argv) > 5 else (0, "0")
world = 2 if len(sys.argv) > 5 else 1
os.environ.update(DS_ACCELERATOR="cpu", CUDA_VISIBLE_DEVICES="", MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank),
                  LOCAL_RANK=str(rank), WORLD_SIZE=str(world), GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS=str(threads))
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print is no answer

import torch
import torch.nn.functional as F
from torch import nn

LEARNING_RATE, MOMENTUM = 0.01, 0.9


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Block(nn.Module):
    def __init__(self, start, to, stride):
        super().__init__()
        self.stride, self.padding = stride, (to - start) // 2
        self.conv1, self.bn1 = nn.Conv2d(start, to, 3, stride, 1, bias=False), nn.BatchNorm2d(to)
        self.conv2, self.bn2 = nn.Conv2d(to, to, 3, 1, 1, bias=False), nn.BatchNorm2d(to)

    def forward(self, x):
        made = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride == 1:
            return F.relu(made + x)
        return F.relu(made + F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.padding, self.padding)))


def pool(x):
    return F.max_pool2d(F.relu(x), 2)


def layers_of(weights):
    if weights["inputs"].dim() == 3:
        layers = []
        for layer in range(8):
            layers += [nn.ReLU()] * (layer > 0) + [nn.Linear(256, 256)]
        return layers
    if weights["inputs"].shape[2] == 1:
        return [nn.Conv2d(1, 10, 5), Function(pool), nn.Conv2d(10, 20, 5), Function(pool), nn.Flatten(), nn.Linear(320, 50),
                nn.ReLU(), nn.Linear(50, 10)]
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    for block in range(9):
        to, wider = 16 << block // 3, block in (3, 6)
        layers.append(Block(to // 2 if wider else to, to, 2 if wider else 1))
    return layers + [Function(lambda x: x.mean((2, 3))), nn.Linear(64, 10)]


def answer(what):
    out.write(json.dumps(what) + "\n")
    out.flush()


def serve(steps_of):
    """`steps_of` makes so many steps and gives their losses."""
    answer({"ready": True})
    for line in sys.stdin:
        if world > 1:
            torch.distributed.barrier()
        began = time.perf_counter()
        losses = steps_of(int(line))
        answer({"seconds": time.perf_counter() - began, "losses": losses})


torch.set_num_threads(threads)
given = torch.load(export, weights_only=False)
inputs, labels = list(given.pop("inputs")), list(given.pop("labels"))
boundaries = given.pop("boundaries").tolist()
layers = layers_of({"inputs": torch.stack(inputs[:2])})
nn.Sequential(*layers).load_state_dict(given)
position = 0


def next_places(count):
    global position
    places = [(position + index) % len(inputs) for index in range(count)]
    position += count
    return places


def train_plain():
    network = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    def step():
        total = 0.0
        for place in next_places(micro_batches):
            loss = F.cross_entropy(network(inputs[place]), labels[place]) / micro_batches
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        return total

    serve(lambda steps: [step() for _ in range(steps)])


def train_schedule1f1b():
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    torch.distributed.init_process_group("gloo")
    part = nn.Sequential(*layers[boundaries[rank]:boundaries[rank + 1]])
    with torch.no_grad():
        first = nn.Sequential(*layers[:boundaries[1]]).eval()
        between = first(inputs[0])
        first.train()
    stage = PipelineStage(part, rank, 2, torch.device("cpu"), input_args=(inputs[0] if rank == 0 else between,))
    schedule = Schedule1F1B(stage, micro_batches, loss_fn=F.cross_entropy)  # it divides gradients by the micro-batches
    optimizer = torch.optim.SGD(part.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    def step():
        places = next_places(micro_batches)
        losses = []
        if rank == 0:
            schedule.step(torch.cat([inputs[place] for place in places]))
        else:
            schedule.step(target=torch.cat([labels[place] for place in places]), losses=losses)
        optimizer.step()
        optimizer.zero_grad()
        return sum(each.item() for each in losses) / micro_batches

    serve(lambda steps: [step() for _ in range(steps)])


def train_deepspeed():
    import deepspeed
    from deepspeed.pipe import PipelineModule
    deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery=False)

    class Cut(PipelineModule):
        def _partition_layers(self, method="uniform"):
            self.parts = boundaries
            self._set_bounds(start=boundaries[self.stage_id], stop=boundaries[self.stage_id + 1])

    network = Cut(layers=layers, num_stages=2, loss_fn=F.cross_entropy, seed_layers=False, activation_checkpoint_interval=0)
    size = inputs[0].shape[0]
    engine = deepspeed.initialize(
        model=network, optimizer=torch.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM),
        config={"train_micro_batch_size_per_gpu": size, "gradient_accumulation_steps": micro_batches,
                "train_batch_size": size * micro_batches, "gradient_clipping": 0.0, "steps_per_print": 10**9})[0]

    def batches():
        while True:
            place = next_places(1)[0]
            yield inputs[place], labels[place]

    data = batches()
    serve(lambda steps: [engine.train_batch(data).item() for _ in range(steps)])


{"plain": train_plain, "schedule1f1b": train_schedule1f1b, "deepspeed": train_deepspeed}[kind]()
