"""Each model on one thread as Troupe's plain and rewritten graph, with LibTorch's freezing and optimize_for_inference, and
in ONNX Runtime, which take turns: prints a table in Markdown.

Usage: python rewrite_table.py BIN/rewrite_bench FOLDER [NAME ...]
       (torch 2.11, torchvision 0.26, transformers 4.57, onnxruntime 1.22; numbers are CPU time of the thread that computes)

FOLDER gets each model in both formats, with its inputs and the output of eager PyTorch. In every round each contestant
computes once without being measured, since the one before it has emptied the caches, and then as often as takes 10 ms, or
once. The rounds begin with another contestant each. "to plain" and "to ONNX Runtime" are quotients of least times; "in
rounds" is the median of the quotients to ONNX Runtime within a round, with its range. FOLDER/times.jsonl gets the
milliseconds of all rounds. The last model shows what a call costs by itself.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import warnings

import onnxruntime
import torch
import torchvision
import transformers
from torch import nn
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

ROUNDS, TURN_MS = 31, 10
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADS = ["model", "code", "least ms", "median ms", "most ms", "to plain", "to ONNX Runtime", "in rounds", "range", "apart"]

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
# Functions of ONNX would need the package onnx; these models have none.
onnx_proto_utils._add_onnxscript_fn = lambda model, functions: model


class Layer(nn.Module):
    """A layer of an encoder as in BERT, with attention written out."""

    def __init__(self, width=256, heads=4, inside=1024):
        super().__init__()
        self.heads, self.head_width = heads, width // heads
        self.query, self.key, self.value, self.joined = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, inside), nn.Linear(inside, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        heads = lambda y: y.view(x.shape[0], x.shape[1], self.heads, self.head_width).transpose(1, 2)
        scores = heads(self.query(x)) @ heads(self.key(x)).transpose(-1, -2) / self.head_width**0.5
        mixed = scores.softmax(-1) @ heads(self.value(x))
        x = self.first(x + self.joined(mixed.transpose(1, 2).flatten(2)))
        return self.second(x + self.down(nn.functional.gelu(self.up(x))))


class MiniLM(nn.Module):
    """BertModel of transformers with the sizes of all-MiniLM-L6."""

    def __init__(self):
        super().__init__()
        sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
        self.bert = transformers.BertModel(transformers.BertConfig(**sizes), add_pooling_layer=False)

    def forward(self, ids, mask):
        return self.bert(ids, attention_mask=mask, return_dict=False)[0]


def with_statistics(model):
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.8, 1.2)
    return model


def mlp(width):
    return lambda: nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(6)])


def numbers(*shape):
    return lambda: [torch.randn(shape)]


image = numbers(4, 3, 224, 224)
MODELS = {
    "ResNet-20, B=64": (lambda: torch.jit.load(f"{SOURCE}/data/cifar10/resnet20.pt"), numbers(64, 3, 32, 32)),
    "ResNet-50, B=4": (lambda: with_statistics(torchvision.models.resnet50()), image),
    "MobileNetV3, B=4": (lambda: with_statistics(torchvision.models.mobilenet_v3_large()), image),
    "BERT-like, B=8": (lambda: nn.Sequential(*[Layer() for _ in range(4)]), numbers(8, 64, 256)),
    "MiniLM-shaped, B=8": (
        MiniLM, lambda: [torch.randint(0, 30000, (8, 64)), torch.ones(8, 64, dtype=torch.long)]),
}
for width in (256, 1024):
    MODELS.update({f"MLP {width}, B={rows}": (mlp(width), numbers(rows, width)) for rows in (1, 8, 64)})
for width, outputs in ((256, 256), (1024, 1024), (768, 3072), (3072, 768)):
    for rows in (1, 8, 64, 1024):
        make = lambda width=width, outputs=outputs: nn.Linear(width, outputs)
        MODELS[f"linear {width} -> {outputs}, B={rows}"] = (make, numbers(rows, width))
MODELS["relu of one number"] = (nn.ReLU, lambda: [torch.ones(1, 1)])


def write_model(name, folder):
    """The model as model.pt and model.onnx, and tensors.pt: its inputs and output."""
    make, make_inputs = MODELS[name]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(7)
    model, inputs = make().eval(), make_inputs()
    names = [f"input{i}" for i in range(len(inputs))]
    torch.save([*inputs, model(*inputs)], f"{folder}/tensors.pt")
    is_script = isinstance(model, torch.jit.ScriptModule)
    torch.jit.save(model if is_script else torch.jit.trace(model, tuple(inputs)), f"{folder}/model.pt")
    torch.onnx.export(model, tuple(inputs), f"{folder}/model.onnx", input_names=names, dynamo=False, verbose=False)


class OnnxRuntime:
    """One session of one thread, inputs and output in memory that is there already."""

    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, ["CPUExecutionProvider"])
        *inputs, wanted = torch.load(f"{folder}/tensors.pt")
        self.bound = self.session.io_binding()
        for given, tensor in zip(self.session.get_inputs(), inputs):
            self.bound.bind_cpu_input(given.name, tensor.numpy())
        self.bound.bind_output(self.session.get_outputs()[0].name)
        self.ms_per_call(1)
        found = torch.from_numpy(self.bound.copy_outputs_to_cpu()[0])
        self.apart = f"{((found - wanted).abs().max() / wanted.abs().max()).item():.1e}"

    def ms_per_call(self, calls):
        run, bound = self.session.run_with_iobinding, self.bound
        run(bound)
        start = time.thread_time_ns()
        for _ in range(calls):
            run(bound)
        return (time.thread_time_ns() - start) / calls / 1e6


class Troupe:
    """The process of rewrite_bench; forms is a list of names with differences."""

    def __init__(self, program, folder):
        files = [f"{folder}/model.pt", f"{folder}/tensors.pt"]
        self.process = subprocess.Popen([program, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.forms = [line.rstrip().split("\t") for line in iter(self.process.stdout.readline, "\n")]

    def ms_per_call(self, form, calls):
        print(form, calls, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def times_of(program, folder):
    """By contestant: the milliseconds per call of each round, and how far its output is from eager PyTorch's."""
    troupe, onnx = Troupe(program, folder), OnnxRuntime(folder)
    turns = [lambda calls, form=form: troupe.ms_per_call(form, calls) for form in range(len(troupe.forms))]
    turns.append(onnx.ms_per_call)
    calls = [max(1, int(TURN_MS / turn(1))) for turn in turns]
    times = [[] for _ in turns]
    for number in range(ROUNDS):
        for position in range(len(turns)):
            which = (number + position) % len(turns)
            times[which].append(turns[which](calls[which]))
    troupe.end()
    names = [*troupe.forms, ["ONNX Runtime", onnx.apart]]
    return {name: {"ms": ms, "apart": apart} for (name, apart), ms in zip(names, times)}


def rows_of(name, found):
    plain, onnx = found["plain"]["ms"], found["ONNX Runtime"]["ms"]
    for code, one in found.items():
        ms = one["ms"]
        ratios = [mine / other for mine, other in zip(ms, onnx)]
        yield [name, code, f"{min(ms):.4g}", f"{statistics.median(ms):.4g}", f"{max(ms):.4g}",
               f"{min(ms) / min(plain):.2f}", f"{min(ms) / min(onnx):.2f}", f"{statistics.median(ratios):.2f}",
               f"{min(ratios):.2f} to {max(ratios):.2f}", one["apart"]]


@torch.no_grad()
def main(program, folder, names):
    load = os.getloadavg()[0]
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for number, name in enumerate(names or MODELS):
        write_model(name, f"{folder}/{number}")
        found = times_of(program, f"{folder}/{number}")
        with open(f"{folder}/times.jsonl", "a", encoding="utf-8") as kept:
            print(json.dumps({"name": name, "found": found}), file=kept)
        for cells in rows_of(name, found):
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nload {load:.1f} before, {os.getloadavg()[0]:.1f} after", file=sys.stderr)


main(sys.argv[1], sys.argv[2], sys.argv[3:])
