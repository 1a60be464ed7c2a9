"""Makes the models beside this file, traced and scripted, and what eager PyTorch gives for them.

Run here, with torch 2.11 and transformers 4.57: python make_models.py

NAME.pt is a model. NAME.io.pt beside it is a scripted module without code, whose attributes are, for the batches of 2
and of 3 samples: in2_0, in2_1, ... and out2_0, ... (in3_0, ...), the tensors that eager PyTorch took and gave on one
thread, and `inputs` and `outputs`, their names (lists of str; the name of a single tensor that is returned is empty).
Traces are made with the batch of 2, so that a size that they fix shows with the batch of 3.
"""

import copy
import warnings
from typing import Dict, Optional

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
small = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.skip = nn.Conv2d(before, after, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.skip(x), inplace=True)


class ResNet(nn.Module):
    """What torchvision's forward has: functional relu and flatten between calls of modules."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 5)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.stem(x))))
        return self.head(torch.flatten(self.pool(x), 1))


class UNet(nn.Module):
    """Skips over three levels: the first is alive across nearly the whole model."""

    def __init__(self):
        super().__init__()
        widths = [4, 8, 8, 16]
        self.enter = nn.Conv2d(1, widths[0], 3, padding=1)
        self.down = nn.ModuleList([nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:])])
        self.up = nn.ModuleList(
            [nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(list(zip(widths, widths[1:])))]
        )
        self.merge = nn.ModuleList([nn.Conv2d(2 * a, a, 3, padding=1) for a in reversed(widths[:-1])])
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        skips = [F.relu(self.enter(x), inplace=True)]
        for down in self.down:
            skips.append(F.relu(down(F.max_pool2d(skips[-1], 2)), inplace=True))
        y = skips.pop()
        for up, merge in zip(self.up, self.merge):
            y = F.relu(merge(torch.cat([skips.pop(), up(y)], 1)), inplace=True)
        return self.head(y)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 8, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states.mean(1))


class Control(nn.Module):
    """A loop and a branch that depend on values."""

    def __init__(self):
        super().__init__()
        self.turn, self.other, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = x * 3.0
        rounds = 0
        while bool(x.norm() > 1.0) and rounds < 8:
            x = torch.relu(self.turn(x)) * 0.9
            rounds += 1
        if bool(x.mean() > 0.05):
            x = self.other(x)
        else:
            x = x - 1.0
        return self.head(x)


class Returns(nn.Module):
    """Returns early from branches inside of both branches, and from a loop: what is returned has no value before."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def branches(self, x):
        if bool(x.mean() > 10.0):
            if bool(x.max() > 20.0):
                return x * 2.0
        else:
            if bool(x.max() > 30.0):
                return x * 3.0
        return torch.tanh(self.second(x))

    def search(self, x):
        for _ in range(4):
            x = x * 2.0
            if bool(x.abs().max() > 5.0):
                return x + 1.0
        return torch.sigmoid(x)

    def forward(self, x):
        y = self.first(x)
        return self.head(self.branches(y) + self.search(y))


class Twice(nn.Module):
    """One module that is called twice, and a weight that is used a third time."""

    def __init__(self):
        super().__init__()
        self.enter, self.shared, self.act, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)

    def forward(self, x):
        x = self.act(self.shared(self.act(self.shared(self.enter(x)))))
        return self.head(x + F.linear(x, self.shared.weight))


class OptionalMask(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x, mask: Optional[Tensor] = None):
        y = torch.relu(self.first(x))
        if mask is not None:
            y = y * mask
        return self.second(y)


class DictOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x) -> Dict[str, Tensor]:
        hidden = torch.tanh(self.first(x))
        return {"logits": self.second(hidden), "hidden": hidden}


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(6, 8), nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, image, text):
        joined = torch.relu(self.left(image)) + torch.tanh(self.right(text))
        return self.head(joined), joined.mean(1)


class BufferState(nn.Module):
    """Counts its calls in a buffer, in place: no function of its input."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1.0)
        return self.head(x) + self.calls


class AttributeState(nn.Module):
    """Keeps what it gave last in an attribute."""

    def __init__(self):
        super().__init__()
        self.head, self.last = nn.Linear(6, 3), torch.zeros(1)

    def forward(self, x):
        y = self.head(x) + self.last
        self.last = y.mean().reshape(1)
        return y


class Alias(nn.Module):
    """A view that is alive while its base is written: a cut between them that copies would change the result."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        base = self.first(x)
        view = base.t()
        other = self.second(torch.tanh(base))
        base.mul_(2.0).add_(1.0)
        return self.head(other + view.t() + base)


def images(channels):
    return lambda batch: {"x": torch.randn(batch, channels, 16, 16)}


def vectors(batch):
    return {"x": torch.randn(batch, 6)}


def tokens(batch):
    mask = torch.ones(batch, 7, dtype=torch.long)
    mask[-1, 5:] = 0
    return {"input_ids": torch.randint(0, 40, (batch, 7)), "attention_mask": mask}


def bert(**more):
    config = transformers.BertConfig(max_position_embeddings=16, num_labels=3, **small, **more)
    return transformers.BertForSequenceClassification(config)


def gpt2():
    # Its mask is made with vmap otherwise, which cannot be traced.
    from transformers.integrations.executorch import sdpa_mask_without_vmap
    from transformers.masking_utils import AttentionMaskInterface

    AttentionMaskInterface._global_mapping["sdpa"] = sdpa_mask_without_vmap
    config = transformers.GPT2Config(
        vocab_size=40, n_positions=16, n_embd=32, n_layer=2, n_head=2, use_cache=False, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config)


TRACED, SCRIPTED = "traced", "scripted"
MODELS = {
    "resnet": (ResNet, images(3), [TRACED, SCRIPTED]),
    "unet": (UNet, images(1), [TRACED, SCRIPTED]),
    "bert_dict": (bert, tokens, [TRACED]),
    "bert_tuple": (lambda: bert(return_dict=False), tokens, [TRACED]),
    "gpt2": (gpt2, tokens, [TRACED]),
    "lstm": (Lstm, lambda batch: {"tokens": torch.randint(0, 20, (batch, 6))}, [TRACED, SCRIPTED]),
    "control": (Control, lambda batch: {"x": torch.randn(batch, 8)}, [SCRIPTED]),
    "returns": (Returns, vectors, [SCRIPTED]),
    "twice": (Twice, vectors, [TRACED, SCRIPTED]),
    "mask_absent": (OptionalMask, vectors, [SCRIPTED]),
    "mask_given": (OptionalMask, lambda batch: {**vectors(batch), "mask": torch.rand(batch, 8)}, [TRACED, SCRIPTED]),
    "dict": (DictOutput, vectors, [TRACED, SCRIPTED]),
    "two_inputs": (
        TwoInputs,
        lambda batch: {"image": torch.randn(batch, 6), "text": torch.randn(batch, 4)},
        [TRACED, SCRIPTED],
    ),
    "buffer_state": (BufferState, vectors, [TRACED, SCRIPTED]),
    "attribute_state": (AttributeState, vectors, [SCRIPTED]),
    "alias": (Alias, vectors, [TRACED, SCRIPTED]),
}


def spread_statistics(model):
    """Statistics that change something: those of a new normalisation are 0 and 1."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)


def named(output):
    """The outputs by name, in the order in which a flat list has them."""
    if isinstance(output, Tensor):
        return {"": output}
    if isinstance(output, dict):
        return {name: tensor for name, tensor in output.items() if tensor is not None}
    return {str(position): tensor for position, tensor in enumerate(output)}


def exported(model, form, inputs):
    own = copy.deepcopy(model)  # a trace runs the model, which may have a state
    if form == SCRIPTED:
        return torch.jit.script(own)
    traced = torch.jit.trace(own, example_kwarg_inputs=inputs, strict=False, check_trace=False)
    traced.load_state_dict(model.state_dict(), strict=False)
    return traced


def recorded(model, inputs_of_batch):
    record = nn.Module()
    for batch in (2, 3):
        inputs = inputs_of_batch(batch)
        outputs = named(copy.deepcopy(model)(**inputs))
        for prefix, tensors in (("in", inputs), ("out", outputs)):
            for position, tensor in enumerate(tensors.values()):
                record.register_buffer(f"{prefix}{batch}_{position}", tensor.clone().contiguous())
    scripted = torch.jit.script(record)
    for name, tensors in (("inputs", inputs), ("outputs", outputs)):
        scripted._c._register_attribute(name, torch._C.ListType(torch._C.StringType.get()), list(tensors))
    return scripted, inputs_of_batch(2)


@torch.no_grad()
def main():
    for name, (make, inputs_of_batch, forms) in MODELS.items():
        torch.manual_seed(7)
        model = make().eval()
        spread_statistics(model)
        record, inputs = recorded(model, inputs_of_batch)
        for form in forms:
            exported(model, form, inputs).save(f"{name}_{form}.pt")
            record.save(f"{name}_{form}.io.pt")


main()
