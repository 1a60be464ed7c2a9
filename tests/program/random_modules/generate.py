#!/usr/bin/env python3
"""Writes random small models with the values that eager PyTorch gives for them.

    generate.py --seeds FIRST..LAST --out FOLDER [--source FOLDER]
    generate.py --named --out FOLDER

Each model is an nn.Sequential as a user would write and export it, traced or scripted, in FOLDER/SEED.pt. Two extra
files of the archive hold the input and what the eager model gave for its first four samples and for the other two:
"TYPE FORMAT SIZES...", a line break, and the elements in order. recorded_modules_test.cpp reads them. --source keeps
the Python code of each model. --named writes the blocks of NAMED, each traced and scripted. README.md beside this file has the whole procedure. Needs PyTorch; set OMP_NUM_THREADS=1.
"""
import argparse
import copy
import importlib.util
import os
import random
import sys
import tempfile
import warnings

import torch
from torch import nn

SAMPLES, FIRST_SAMPLES, ELEMENTS_MAX = 6, 4, 3000
# As tolerance_of() in random_module.cpp has them; rounding alone stays below a quarter.
TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-10, torch.float16: 0.02, torch.bfloat16: 0.1}
TYPE_NAMES = {torch.float32: "float32", torch.float64: "float64", torch.float16: "float16", torch.bfloat16: "bfloat16"}
HEADER = "import torch\nimport torch.nn.functional as F\nfrom torch import nn, Tensor\n\n\n"


# Blocks that were once computed wrongly, refused or written: __init__, forward, sizes of an input, values per sample.
NAMED = {
    "output_used_twice": (["self.l = nn.Linear(12, 5)", "self.b = nn.BatchNorm1d(5)"],
                          ["y = self.l(x)", "return self.b(y) + y"], [12], 5),
    "norm_over_another_axis": (["self.l = nn.Linear(12, 5)", "self.b = nn.BatchNorm1d(5)"],
                               ["return torch.relu(self.b(self.l(x)))"], [5, 12], 25),
    "row_constant_over_convolution": (["self.c = nn.Conv2d(3, 4, 3, padding=1)", 'self.register_buffer("k", torch.ones(1, 4))'],
                                      ["return self.c(x) * self.k"], [3, 5, 4], 80),
    "norm_without_weights": (["self.c = nn.Conv2d(3, 4, 3, padding=1)", "self.b = nn.BatchNorm2d(4, affine=False)"],
                             ["y = self.c(x)", "return self.b(torch.relu(y)) + y"], [3, 5, 4], 80),
    "hardtanh_of_whole_numbers": (["self.c = nn.Conv2d(3, 4, 3, padding=1)"],
                                  ["return F.hardtanh(self.c(x), -1, 1)"], [3, 5, 4], 80),
    # In eval mode dropout gives back its input itself, which the next line therefore writes.
    "write_through_dropout": ([], ["y = F.dropout(x, 0.5, False)", "return y.mul_(2) + x"], [12], 12),
}


class Unusable(Exception):
    """The draw is thrown away and made anew."""


def divisors(number):
    return [each for each in range(1, number + 1) if number % each == 0]


class Draw:
    """Random choices of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = torch.Generator().manual_seed(self.random.randrange(2 ** 62))

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def one_of(self, *values):
        return self.random.choice(values)

    def between(self, first, last):
        return self.random.randint(first, last)

    def width(self, x):
        """A size that x has, too, in half of the cases."""
        other = x.shape[self.between(1, x.dim() - 1)]
        return other if other <= 8 and self.chance(50) else self.between(1, 6)

    def fill(self, name, tensor):
        """Weights that keep values in range, statistics and constants away from zero."""
        if not tensor.is_floating_point():
            if tensor.dim() or "num_batches" not in name:
                tensor.copy_(torch.randint(1, 5, tensor.shape, generator=self.tensors))
            return
        uniform = torch.rand(tensor.shape, generator=self.tensors, dtype=torch.float64)
        last = name.rsplit(".", 1)[-1]
        if last.startswith("weight") and tensor.dim() > 1:
            values = torch.randn(tensor.shape, generator=self.tensors, dtype=torch.float64)
            values /= max(1, tensor[0].numel()) ** 0.5
        elif last.startswith(("running_mean", "bias")):
            values = torch.randn(tensor.shape, generator=self.tensors, dtype=torch.float64)
        elif last.startswith("running_var"):
            values = uniform * 1.5 + 0.5
        else:
            sign = torch.randint(0, 2, tensor.shape, generator=self.tensors) * 2 - 1
            values = (uniform * 1.5 + 0.5) * sign
        tensor.copy_(values)


def constant_sizes(draw, x):
    """Trailing sizes of x, some of them 1; all of them in some cases with a 1 for the samples."""
    count = draw.between(0, x.dim() - 1)
    sizes = [1 if draw.chance(40) else size for size in x.shape[x.dim() - count:]]
    return [1] + sizes if count == x.dim() - 1 and draw.chance(50) else sizes


class Block:
    """A module under construction: lines of its __init__ and forward, and the values that its lines gave so far."""

    def __init__(self, draw, name, x):
        self.draw, self.name = draw, name
        self.module = nn.Module().to(x.dtype)
        self.values, self.texts = [x], []  # texts[i] makes values[i + 1]
        self.made, self.kinds, self.children = [], [], []

    def attribute(self, kind):
        return f"{kind}{len(self.made)}"

    def child(self, code, x):
        """Adds a submodule of this constructor."""
        name = self.attribute("m")
        module = eval(code, {"nn": nn, "torch": torch}).to(x.dtype).eval()
        if x.dim() in (4, 5) and not x.is_contiguous():
            module = module.to(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
        for key, tensor in list(module.named_parameters()) + list(module.named_buffers()):
            self.draw.fill(key, tensor.data)
        return name, module, f"self.{name} = {code}"

    def tensor(self, name, sizes, dtype, buffer=True):
        value = torch.empty(sizes, dtype=dtype)
        self.draw.fill(name, value)
        text = f"torch.empty({list(sizes)}, dtype={dtype})"
        held = f'self.register_buffer("{name}", {text})' if buffer else f"self.{name} = nn.Parameter({text}, requires_grad=False)"
        return value, held

    def try_line(self, text, members, inputs, kind):
        """False where PyTorch takes no such input. `text` uses v0, v1...; `members` are new (name, value, __init__ line)."""
        scope = {"torch": torch, "F": nn.functional, "self": _Holder(self.module, members)}
        scope.update({f"v{index}": self.values[index] for index in inputs})
        try:
            with torch.no_grad():
                value = eval(text, scope)
        except (RuntimeError, ValueError, IndexError):
            return False
        if not 2 <= value.dim() <= 5 or value.shape[0] != SAMPLES or not 0 < value.numel() <= ELEMENTS_MAX * SAMPLES:
            return False
        if not torch.isfinite(value).all() or value.abs().max() > 1000:
            raise Unusable
        for name, member, line in members:
            if isinstance(member, nn.Module):
                self.module.add_module(name, member)
            else:
                self.module.register_buffer(name, member)
            self.made.append(line)
        self.values.append(value)
        self.texts.append(text)
        self.kinds.append(kind)
        return True

    def code(self):
        lines = [f"class {self.name}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
        lines += [f"        {line}" for line in self.made]
        lines += ["", "    def forward(self, v0: Tensor) -> Tensor:"]
        lines += [f"        v{index + 1} = {text}" for index, text in enumerate(self.texts)]
        return "\n".join(lines + [f"        return v{len(self.texts)}", "", "", ""])


class _Holder:
    """Finds members that are not yet part of the block."""

    def __init__(self, module, members):
        self._module, self._members = module, {name: value for name, value, _ in members}

    def __getattr__(self, name):
        members = self.__dict__["_members"]
        return members[name] if name in members else getattr(self.__dict__["_module"], name)


def window_of(draw, x):
    dims = x.dim() - 2
    keeps_size = draw.chance(60)
    kernel = [draw.one_of(1, 3) if keeps_size else draw.between(1, 3) for _ in range(dims)]
    stride = [1 if keeps_size else draw.between(1, 2) for _ in range(dims)]
    padding = [size // 2 if keeps_size else draw.between(0, 1) for size in kernel]
    dilation = [1 if keeps_size else draw.between(1, 2) for _ in range(dims)]
    groups = draw.one_of(*divisors(x.shape[1])) if draw.chance(35) else 1
    outputs = draw.width(x) if groups == 1 else groups * draw.between(1, 2)
    return dims, kernel, stride, padding, dilation, groups, outputs


def add_linear(block, v, x):
    draw, outputs, bias = block.draw, block.draw.width(x), block.draw.chance(70)
    if draw.chance(50):
        name, module, line = block.child(f"nn.Linear({x.shape[-1]}, {outputs}, bias={bias})", x)
        return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], "linear")
    weight = block.attribute("weight")
    members = [(weight, *block.tensor(weight, [outputs, x.shape[-1]], x.dtype, buffer=False))]
    text = draw.one_of(f"F.linear(v{v}, self.{weight})", f"torch.matmul(v{v}, self.{weight}.t())")
    if bias:
        members.append(("bias" + weight, *block.tensor("bias" + weight, [outputs], x.dtype, buffer=False)))
        text = draw.one_of(f"F.linear(v{v}, self.{weight}, self.bias{weight})", f"{text} + self.bias{weight}")
    return block.try_line(text, members, [v], "linear")


def add_convolution(block, v, x, transposed=False):
    if not 3 <= x.dim() <= 5:
        return False
    draw = block.draw
    dims, kernel, stride, padding, dilation, groups, outputs = window_of(draw, x)
    extra = [draw.between(0, each - 1) for each in stride]
    bias = draw.chance(70)
    kind = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    if draw.chance(60):
        code = f"nn.Conv{'Transpose' if transposed else ''}{dims}d({x.shape[1]}, {outputs}, {kernel}, {stride}, {padding}, "
        code += f"output_padding={extra}, " if transposed else ""
        code += f"groups={groups}, dilation={dilation}, bias={bias})"
        if not transposed and draw.chance(10):
            code = code[:-1] + ', padding_mode="circular")'
        name, module, line = block.child(code, x)
        return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], kind)
    weight = block.attribute("weight")
    sizes = [x.shape[1], outputs // groups] if transposed else [outputs, x.shape[1] // groups]
    members = [(weight, *block.tensor(weight, sizes + kernel, x.dtype, buffer=False))]
    second = "None"
    if bias:
        members.append(("bias" + weight, *block.tensor("bias" + weight, [outputs], x.dtype, buffer=False)))
        second = f"self.bias{weight}"
    text = f"F.{kind}(v{v}, self.{weight}, {second}, {stride}, {padding}, "
    text += f"{extra}, {groups}, {dilation})" if transposed else f"{dilation}, {groups})"
    return block.try_line(text, members, [v], kind)


def add_transposed(block, v, x):
    return add_convolution(block, v, x, transposed=True)


def add_batch_norm(block, v, x):
    draw, channels = block.draw, x.shape[1]
    dims = {2: 1, 3: 1, 4: 2, 5: 3}[x.dim()]
    affine = draw.chance(70)
    if draw.chance(70):
        name, module, line = block.child(f"nn.BatchNorm{dims}d({channels}, affine={affine})", x)
        return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], "batch_norm")
    names = [block.attribute(kind) for kind in ("running_mean", "running_var")] + ([block.attribute("scale"), block.attribute("bias")] if affine else [])
    members = [(name, *block.tensor(name, [channels], x.dtype)) for name in names]
    given = ", ".join(f"self.{name}" for name in names)
    return block.try_line(f"F.batch_norm(v{v}, {given})", members, [v], "batch_norm")


def add_layer_norm(block, v, x):
    over = list(x.shape[block.draw.between(1, x.dim() - 1):])
    if block.draw.chance(30):
        return block.try_line(f"F.layer_norm(v{v}, {over})", [], [v], "layer_norm")
    name, module, line = block.child(f"nn.LayerNorm({over}, elementwise_affine={block.draw.chance(70)})", x)
    return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], "layer_norm")


def add_group_norm(block, v, x):
    groups = block.draw.one_of(*divisors(x.shape[1]))
    name, module, line = block.child(f"nn.GroupNorm({groups}, {x.shape[1]}, affine={block.draw.chance(70)})", x)
    return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], "group_norm")


def add_instance_norm(block, v, x):
    if not 3 <= x.dim() <= 5:
        return False
    affine, stats = block.draw.chance(60), block.draw.chance(40)
    code = f"nn.InstanceNorm{x.dim() - 2}d({x.shape[1]}, affine={affine}, track_running_stats={stats})"
    name, module, line = block.child(code, x)
    return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], "instance_norm")


def add_constant(block, v, x):
    draw = block.draw
    sign = draw.one_of("+", "-", "*", "*", "/")
    if draw.chance(15):
        number = draw.one_of(draw.between(1, 8), draw.between(1, 8) / 4, -draw.between(1, 8) / 4)
        text = f"v{v} {sign} {number}" if draw.chance(70) or sign == "/" else f"{number} {sign} v{v}"
        return block.try_line(text, [], [v], f"number {sign}")
    dtype = torch.float64 if draw.chance(5) else torch.int64 if draw.chance(5) else x.dtype
    name = block.attribute("k")
    members = [(name, *block.tensor(name, constant_sizes(draw, x), dtype, buffer=dtype == torch.int64 or draw.chance(60)))]
    kind = f"constant of {members[0][1].dim()} for {x.dim()}"
    if draw.chance(5):
        return block.try_line(f"torch.add(v{v}, self.{name}, alpha=2)", members, [v], "constant with alpha")
    if draw.chance(5):
        return block.try_line(f"v{v}.{draw.one_of('add_', 'mul_')}(self.{name})", members, [v], "constant in place")
    if draw.chance(5) and x.dim() == 2:
        return block.try_line(f"torch.addcmul(v{v}, v{v}, self.{name})", members, [v], "addcmul")
    first = sign != "/" and draw.chance(30)
    return block.try_line(f"self.{name} {sign} v{v}" if first else f"v{v} {sign} self.{name}", members, [v], kind)


def add_activation(block, v, x):
    draw = block.draw
    if draw.chance(40):
        code = draw.one_of("nn.ReLU()", "nn.ReLU()", "nn.ReLU(inplace=True)", "nn.ReLU6()", "nn.GELU()", "nn.Sigmoid()", "nn.Tanh()",
                           "nn.SiLU()", "nn.Hardswish()", "nn.LeakyReLU(0.1)", "nn.ELU()", "nn.Hardtanh()", "nn.Softmax(-1)", "nn.Dropout(0.5)",
                           "nn.Identity()")
        name, module, line = block.child(code, x)
        return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], code)
    text = draw.one_of("torch.relu(X)", "F.relu(X)", "X.relu()", "F.hardtanh(X)", "torch.sigmoid(X)", "torch.tanh(X)", "F.gelu(X)",
                       "F.leaky_relu(X, 0.1)", "X.clamp(0., 6.)", "torch.softmax(X, -1)", "F.dropout(X, 0.5, False)", "X.double()",
                       "X.contiguous()", "torch.abs(X)", "-X")
    return block.try_line(text.replace("X", f"v{v}"), [], [v], text)


def add_pooling(block, v, x):
    if not 3 <= x.dim() <= 5:
        return False
    dims, draw = x.dim() - 2, block.draw
    form = draw.one_of("MaxPool{}d(2)", "MaxPool{}d(3, 1, 1)", "AvgPool{}d(2)", "AvgPool{}d(3, 1, 1)", "AdaptiveAvgPool{}d(2)")
    name, module, line = block.child("nn." + form.format(dims), x)
    return block.try_line(f"self.{name}(v{v})", [(name, module, line)], [v], form)


def add_shape(block, v, x):
    last = x.dim() - 1
    text = block.draw.one_of("torch.transpose(X, 1, -1)", f"torch.flatten(X, {last - 1})", f"X.unsqueeze({last})", f"X.mean({last})")
    if (last < 2 and "unsqueeze" not in text) or (last > 2 and "unsqueeze" in text):
        return False
    return block.try_line(text.replace("X", f"v{v}"), [], [v], text)


KINDS = [add_linear] * 2 + [add_convolution] * 3 + [add_transposed, add_batch_norm, add_batch_norm, add_layer_norm, add_group_norm,
         add_instance_norm, add_constant, add_constant, add_activation, add_activation, add_pooling, add_shape]


def add_pair(block):
    """A skip: the last value with an earlier one of its shape."""
    last, draw = len(block.values) - 1, block.draw
    others = [index for index in range(last) if block.values[index].shape == block.values[last].shape]
    if not others or draw.chance(35):
        return
    pair = [last, draw.one_of(*others)]
    draw.random.shuffle(pair)
    text = draw.one_of("v{} + v{}", "v{} + v{}", "v{} - v{}", "v{} * v{}", "torch.cat([v{}, v{}], 1)")
    block.try_line(text.format(*pair), [], pair, "pair")


def draw_block(draw, name, x):
    block = Block(draw, name, x)
    wanted, tries = draw.between(1, 6), 0
    while len(block.texts) < wanted and tries < 4 * wanted:
        tries += 1
        last = len(block.values) - 1
        v = last if draw.chance(75) else draw.between(0, last)
        again = [text for text in block.texts if text.startswith("self.m")]
        if again and draw.chance(12):
            done = block.try_line(f"{draw.one_of(*again).split('(')[0]}(v{v})", [], [v], "called again")
        else:
            add = draw.one_of(*KINDS)
            if block.kinds and block.kinds[-1].startswith(("linear", "conv")) and draw.chance(70):
                add = draw.one_of(add_batch_norm, add_constant)
            done = add(block, v, block.values[v])
        if done and draw.chance(50):
            add_pair(block)
    add_pair(block)
    if not block.texts:
        raise Unusable
    return block


def draw_input(draw):
    dtype = torch.float32 if draw.chance(64) else draw.one_of(torch.float64, torch.bfloat16, torch.float16)
    dims, common = draw.one_of(1, 2, 2, 3, 3, 3, 4, 4), draw.between(2, 6)
    sizes = [SAMPLES] + [common if draw.chance(40) else draw.between(2, 6) for _ in range(dims)]
    x = torch.randn(sizes, generator=draw.tensors, dtype=torch.float64).to(dtype)
    if dims in (3, 4) and draw.chance(30):
        return x.to(memory_format=torch.channels_last if dims == 3 else torch.channels_last_3d)
    return x


def layers_between(draw, x, chain, lines):
    """Layers of LibTorch's own at the top level, which `stage` fuses with their neighbours."""
    top = Block(draw, "Top", x)
    for _ in range(draw.between(0, 3)):
        v = len(top.values) - 1
        add = draw.one_of(add_linear, add_convolution, add_batch_norm, add_batch_norm, add_activation, add_pooling)
        add(top, v, top.values[v])
        if top.texts and not top.texts[-1].startswith("self.m"):
            raise Unusable
    for text, line in zip(top.texts, top.made):
        name = text.split("(")[0].removeprefix("self.")
        chain.append(getattr(top.module, name))
        lines.append(line.split(" = ", 1)[1])
    return top.values[-1]


def draw_model(draw):
    """The eager model, its input, and its code."""
    x = value = draw_input(draw)
    value = value.clone(memory_format=torch.preserve_format)
    chain, lines, code = [], [], HEADER
    for index in range(draw.between(1, 3)):
        value = layers_between(draw, value, chain, lines)
        block = draw_block(draw, f"Block{index}", value)
        code += block.code()
        chain.append(block.module)
        lines.append(f"Block{index}()")
        value = block.values[-1]
    flat = value.flatten(1)
    last = nn.Linear(flat.shape[1], draw.width(flat)).to(flat.dtype)
    for key, tensor in last.named_parameters():
        draw.fill(key, tensor.data)
    chain += [nn.Flatten(1), last]
    lines += ["nn.Flatten(1)", f"nn.Linear({last.in_features}, {last.out_features})"]
    code += "def model():\n    return nn.Sequential(\n        " + ",\n        ".join(lines) + ")\n"
    return chain, x, code


def imported(code, folder, seed):
    """torch.jit.script reads the source of a class, which therefore lies in a file."""
    path = os.path.join(folder, f"model_{seed}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    spec = importlib.util.spec_from_file_location(f"model_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.model()


def with_weights_of(model, chain):
    """The model as its code makes it, with the types, values and memory formats that were drawn."""
    for mine, drawn in zip(model, chain):
        for name, tensor in list(drawn.named_parameters()) + list(drawn.named_buffers()):
            holder, _, last = name.rpartition(".")
            owner = mine.get_submodule(holder)
            if last in owner._parameters:
                owner._parameters[last] = nn.Parameter(tensor.detach().clone(memory_format=torch.preserve_format), requires_grad=False)
            else:
                owner._buffers[last] = tensor.detach().clone(memory_format=torch.preserve_format)
    return model.eval()


def outputs_of(model, x):
    with torch.no_grad():
        parts = [part for part in (x[:FIRST_SAMPLES], x[FIRST_SAMPLES:]) if part.shape[0]]
        return torch.cat([model(part.clone(memory_format=torch.preserve_format)) for part in parts])


def check_use(model, x, output):
    """A single sample is accepted, the output depends on the input, and rounding alone changes little."""
    outputs_of(model, x[:1])
    exact = outputs_of(copy.deepcopy(model).double(), x.double())
    largest = exact.abs().max().item()
    if (exact - exact[0]).abs().max().item() < 0.02 * largest or not torch.isfinite(output).all():
        raise Unusable
    if (output.double() - exact).abs().max().item() > TOLERANCES[x.dtype] / 4 * max(largest, 1e-6):
        raise Unusable


def extra_file(tensor):
    form = "plain"
    if not tensor.is_contiguous():
        form = "channels_last" if tensor.dim() == 4 else "channels_last_3d"
    head = f"{TYPE_NAMES[tensor.dtype]} {form} {' '.join(map(str, tensor.shape))}\n"
    plain = tensor.contiguous(memory_format=torch.contiguous_format)
    return head.encode() + plain.view(torch.uint8).numpy().tobytes()


def exported(draw, model, x):
    if draw.chance(50):
        return torch.jit.trace(model, x[:2].clone(memory_format=torch.preserve_format), check_trace=False)
    return torch.jit.script(model)


def named_code(members, forward, values):
    lines = ["class Block(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        {line}" for line in members]
    lines += ["", "    def forward(self, x: Tensor) -> Tensor:"] + [f"        {line}" for line in forward]
    lines += ["", "", "def model():", f"    return nn.Sequential(Block(), nn.Flatten(1), nn.Linear({values}, 7))", ""]
    return HEADER + "\n".join(lines)


def make_named(out, source):
    for number, (name, (members, forward, sizes, values)) in enumerate(NAMED.items()):
        draw = Draw(number)
        model = imported(named_code(members, forward, values), source, name).eval()
        for key, tensor in list(model.named_parameters()) + list(model.named_buffers()):
            draw.fill(key, tensor.data)
        x = torch.randn([SAMPLES] + sizes, generator=draw.tensors)
        files = {"input": extra_file(x), "output": extra_file(outputs_of(model, x))}
        torch.jit.save(torch.jit.trace(model, x[:2]), os.path.join(out, name + "_traced.pt"), _extra_files=files)
        if name != "hardtanh_of_whole_numbers":  # TorchScript wants fractions there; a trace records what eager takes
            torch.jit.save(torch.jit.script(model), os.path.join(out, name + "_scripted.pt"), _extra_files=files)


def make_case(seed, out, source):
    for attempt in range(1000):
        draw = Draw(seed * 1000 + attempt)
        try:
            chain, x, code = draw_model(draw)
            model = with_weights_of(imported(code, source, seed), chain)
            output = outputs_of(model, x)
            check_use(model, x, output)
        except (Unusable, RuntimeError, ValueError):
            continue
        saved = exported(draw, model, x)
        torch.jit.save(saved, os.path.join(out, f"{seed:04d}.pt"), _extra_files={"input": extra_file(x), "output": extra_file(output)})
        return
    raise SystemExit(f"seed {seed}: no usable model in 1000 attempts")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seeds", metavar="FIRST..LAST")
    what.add_argument("--named", action="store_true")
    parser.add_argument("--out", required=True)
    parser.add_argument("--source", default=None)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.makedirs(asked.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source = asked.source or folder
        os.makedirs(source, exist_ok=True)
        if asked.named:
            return make_named(asked.out, source)
        first, last = map(int, asked.seeds.split(".."))
        for seed in range(first, last + 1):
            make_case(seed, asked.out, source)


if __name__ == "__main__":
    main()
