"""Makes the models and the recorded results of tests/runtime/exported.

    python make_models.py

with torch 2.11 and transformers 4.57.6. For each model NAME it writes NAME.pt2, as torch.export.save does, and
NAME.values.pt, a list with one entry per call: a list of the tensors given, and a list of the tensors that eager
PyTorch computes from them. Stack traces and modules keep only the part of a path behind site-packages or behind this
folder, and what the reader does not use is left out (the sample inputs), so that the files are small and the same on
all machines.
"""

import dataclasses
import io
import json
import pathlib
import re
import zipfile

import torch
import transformers
from torch import nn
from torch.export import Dim
from transformers.integrations.executorch import sdpa_mask_without_vmap
from transformers.masking_utils import AttentionMaskInterface

HERE = pathlib.Path(__file__).parent
# Decoders of transformers make their masks with vmap, which torch.export cannot follow.
AttentionMaskInterface._global_mapping["sdpa"] = sdpa_mask_without_vmap
BATCH = Dim("batch", min=1, max=64)


class TiedMlp(nn.Module):
    """Two layers with one weight, a buffer that is saved and one that is not, and a constant."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.rand(8))
        self.register_buffer("steps", torch.arange(8), persistent=False)
        self.shift = torch.rand(8)

    def forward(self, x):
        hidden = torch.relu(self.first(x) * self.scale + self.shift)
        return self.second(hidden) + self.steps


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + x)


class SkipCnn(nn.Module):
    """Batch norm and skip connections, and one block that is called twice."""

    def __init__(self):
        super().__init__()
        self.stem, self.block, self.again, self.head = nn.Conv2d(3, 4, 3), Block(), Block(), nn.Linear(4, 5)

    def forward(self, x):
        x = self.again(self.again(self.block(self.stem(x))))
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.merge, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 4, 3, padding=1), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        skip = torch.relu(self.down1(x))
        low = torch.relu(self.down2(nn.functional.max_pool2d(skip, 2)))
        merged = torch.cat([self.up(low), skip], dim=1)
        return self.out(torch.relu(self.merge(merged)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(10, 3)

    def forward(self, x):
        return self.head(self.lstm(x)[0].mean(1))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.large(y) + 1, lambda y: self.small(y) - 1, (x,))


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        def go_on(step, y):
            return step < 5

        def once(step, y):
            return step + 1, torch.tanh(self.inner(y)) + y

        return torch._higher_order_ops.while_loop(go_on, once, (torch.zeros((), dtype=torch.int64), x))


class Several(nn.Module):
    """Keyword and optional arguments, a dict with a tuple inside, sizes that are computed."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x, weight=None, *, mask=None, times=2):
        y = self.inner(x)
        if weight is not None:
            y = y * weight
        if mask is not None:
            y = y.masked_fill(mask, -1.0)
        half = y.shape[0] * 3 // 2 + 1
        return {"all": y * times, "parts": (y.sum(1), y.new_zeros(half) + half), "nothing": None, "number": 2.5}


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor
    third: torch.Tensor | None = None


torch.export.register_dataclass(Pair, serialized_type_name="Pair")


class Nested(nn.Module):
    """Dicts, lists and sizes as arguments, a dataclass inside of a dict as the result, and parts without gradients."""

    def forward(self, x, pair, *rest, steps):
        y = x * pair["a"] + pair["b"]
        with torch.no_grad():
            y = y + rest[0] - rest[1]
        with torch.autocast("cpu", enabled=False):
            z = y.repeat(1, steps)
        total = y.sum().item()
        ratio = x.shape[0] / 2 + max(x.shape[0], 3)
        return {"sum": y * total, "rows": x.shape[0], "more": Pair(z, y * ratio)}


class Mixed(nn.Module):
    """Weights of 16 bits and whole numbers, and constants that are views with strides of their own."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Parameter(torch.randn(4, 6).to(torch.bfloat16))
        self.short = nn.Parameter(torch.randn(4, 6).to(torch.float16))
        self.register_buffer("index", torch.tensor([3, 1, 2, 0, 5, 4]))
        self.register_buffer("turned", torch.randn(6, 4).t())
        self.register_buffer("part", torch.randn(10)[2:8])
        self.register_buffer("flags", torch.tensor([True, False, True, True]))
        self.register_buffer("exact", torch.randn(6, dtype=torch.float64))

    def forward(self, x):
        picked = x[:, self.index] * self.part
        brain = x.to(torch.bfloat16) @ self.wide.t() @ self.wide
        rows = (x @ self.turned.t()) * self.flags
        return picked, brain, rows @ self.short.float(), x.double() * self.exact, torch.full_like(x, float("inf"))


class Wide(nn.Module):
    """Operators whose arguments have the rarer kinds."""

    def forward(self, x):
        parts = torch.split(x, [1, 2, 1], dim=1)
        first, order = torch.sort(x, dim=1)
        upper = torch.triu(torch.ones(4, 4, dtype=torch.bool, device=x.device), diagonal=1)
        picked = x[:, torch.tensor([0, 2])]
        big = nn.functional.interpolate(x.view(-1, 1, 2, 2), scale_factor=2.0, mode="bilinear")
        return (
            torch.cat([parts[2], parts[0]], 1).to(memory_format=torch.preserve_format),
            first.masked_fill(upper[0], float("-inf")),
            order,
            torch.einsum("bi,bj->bij", picked, picked),
            torch.clamp(big, min=-0.5),
            torch.arange(x.shape[0], dtype=torch.float32),
        )


def fitted(module):
    """Batch norms with statistics that are not 0 and 1."""
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d):
            each.running_mean.normal_()
            each.running_var.uniform_(0.5, 2)
            each.weight.data.uniform_(0.5, 2)
    return module


def short_paths(text):
    text = re.sub(r'File "[^"]*/(?:site|dist)-packages/', 'File "site-packages/', text)
    return text.replace(f'File "{HERE.resolve()}/', 'File "').replace(f'File "{HERE}/', 'File "')


def small_program(text):
    program = json.loads(text)

    def visit(value):
        if isinstance(value, list):
            for each in value:
                visit(each)
        elif isinstance(value, dict):
            if "stack_trace" in value:
                value["stack_trace"] = short_paths(value["stack_trace"])
            for each in value.values():
                visit(each)

    visit(program)
    return json.dumps(program, separators=(",", ":"))


def save(name, program):
    whole = io.BytesIO()
    torch.export.save(program, whole)
    with zipfile.ZipFile(whole) as given, zipfile.ZipFile(HERE / f"{name}.pt2", "w") as small:
        for each in given.infolist():
            content = given.read(each)
            if "/sample_inputs/" in each.filename:
                continue
            if each.filename.endswith("models/model.json"):
                content = small_program(content)
            path = each.filename.split("/", 1)[1]
            kind = zipfile.ZIP_DEFLATED if path.endswith(".json") else zipfile.ZIP_STORED
            small.writestr(zipfile.ZipInfo(f"{name}/{path}", (2026, 1, 1, 0, 0, 0)), content, kind)


def inputs_of(value):
    return [each for each in torch.utils._pytree.tree_leaves(value) if isinstance(each, torch.Tensor)]


def results_of(value):
    """The tensors, and the sizes as tensors."""
    leaves = [each for each in torch.utils._pytree.tree_leaves(value) if isinstance(each, (torch.Tensor, int))]
    return [torch.as_tensor(each).contiguous() for each in leaves]


def make(name, model, calls, dynamic):
    """The first call is the example; each is (arguments, keyword arguments)."""
    model = fitted(model).eval()
    with torch.no_grad():
        save(name, torch.export.export(model, *calls[0], dynamic_shapes=dynamic))
        values = [[inputs_of(each), results_of(model(*each[0], **each[1]))] for each in calls]
    torch.save(values, HERE / f"{name}.values.pt")


def rows(*shape):
    return [((torch.randn(batch, *shape),), {}) for batch in (3, 2)]


def tokens(batch):
    mask = torch.ones(batch, 7, dtype=torch.int64)
    mask[0, 4:] = 0
    return (), {"input_ids": torch.randint(0, 50, (batch, 7)), "attention_mask": mask}


def main():
    torch.manual_seed(1)
    one = {"x": {0: BATCH}}
    make("tied_mlp", TiedMlp(), rows(8), one)
    make("skip_cnn", SkipCnn(), rows(3, 10, 10), one)
    make("unet", UNet(), rows(1, 8, 8), one)
    make("lstm", Lstm(), rows(4, 6), one)
    make("branch", Branch(), [((torch.ones(3, 4),), {}), ((-torch.ones(2, 4),), {})], one)
    make("loop", Loop(), rows(4), one)
    make("mixed", Mixed(), rows(6), one)
    make("wide", Wide(), rows(4), one)
    make("fixed", nn.Sequential(nn.Linear(4, 3), nn.ReLU()), [((torch.randn(3, 4),), {})], None)
    several = [
        ((torch.randn(batch, 4), torch.randn(4)), {"mask": torch.rand(batch, 4) > 0.5, "times": 3}) for batch in (3, 2)
    ]
    make("several", Several(), several, {"x": {0: BATCH}, "weight": None, "mask": {0: BATCH}, "times": None})
    nested = []
    for batch in (3, 2):
        x, a, b, c, d = torch.randn(5, batch, 4)
        nested.append(((x, {"a": a, "b": b}, c, d), {"steps": 4}))
    batched = {0: BATCH}
    shapes = {"x": batched, "pair": {"a": batched, "b": batched}, "rest": (batched, batched), "steps": Dim.DYNAMIC}
    make("nested", Nested(), nested, shapes)
    text = {"input_ids": {0: BATCH}, "attention_mask": {0: BATCH}}
    sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    bert = transformers.BertConfig(**sizes, intermediate_size=48, max_position_embeddings=16)
    make("bert", transformers.BertModel(bert), [tokens(3), tokens(2)], text)
    gpt = transformers.GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=2, n_positions=16, use_cache=False)
    make("gpt2", transformers.GPT2LMHeadModel(gpt), [tokens(3), tokens(2)], text)


if __name__ == "__main__":
    main()
