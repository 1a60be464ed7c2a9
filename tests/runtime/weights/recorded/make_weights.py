"""Writes the files of weights in this folder, as PyTorch and safetensors write them, and their values.

    python make_weights.py

Recorded with torch 2.11. The NAME.values.safetensors have what the other files hold, contiguous and with the names that
a user wants; the tests compare bits. all_types.json has the values of all_types.safetensors as numbers.
"""

import argparse
import collections
import json
import pathlib

import numpy
import torch
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent


def tensors():
    torch.manual_seed(1)
    base = torch.randn(4, 6)
    tied = torch.randn(3, 2)
    return collections.OrderedDict(
        [
            ("first.weight", torch.randn(3, 4)),
            ("first.bias", torch.randn(3)),
            ("tied.one", tied),
            ("tied.other", tied),
            ("view.transposed", base.t()),
            ("view.part", base[1:3, ::2]),
            ("half", torch.randn(5).to(torch.float16)),
            ("bfloat", torch.randn(5).to(torch.bfloat16)),
            ("double", torch.randn(2, dtype=torch.float64)),
            ("bytes", torch.arange(7, dtype=torch.uint8)),
            ("chars", torch.arange(-3, 4, dtype=torch.int8)),
            ("shorts", torch.arange(-3, 4, dtype=torch.int16)),
            ("ints", torch.arange(-3, 4, dtype=torch.int32)),
            ("num_batches_tracked", torch.tensor(17)),
            ("mask", torch.tensor([True, False, True])),
            ("empty", torch.empty(0, 3)),
            ("scalar", torch.tensor(2.5)),
            ("complex", torch.randn(2, dtype=torch.complex64)),
        ]
    )


def new_types():
    torch.manual_seed(3)
    return {
        "uint16": torch.arange(5).to(torch.uint16),
        "uint32": torch.arange(5).to(torch.uint32),
        "uint64": torch.arange(5).to(torch.uint64),
        "float8_e4m3fn": torch.randn(6).to(torch.float8_e4m3fn),
        "float8_e5m2": torch.randn(6).to(torch.float8_e5m2),
    }


def save(name, value, **how):
    torch.save(value, here / name, **how)


def record_values(name, wanted):
    plain = {key: tensor.detach().contiguous().clone() for key, tensor in wanted.items()}
    save_file(plain, here / (name + ".values.safetensors"))


def trained():
    """A module with its optimizer after one step, and a namespace beside them."""
    torch.manual_seed(2)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    return module, optimizer


def main():
    wanted = tensors()
    record_values("tensors", wanted)
    save("ordered.pt", wanted)
    save("ordered_legacy.pt", wanted, _use_new_zipfile_serialization=False)
    save("plain.pt", dict(wanted))
    save("protocol4.pt", wanted, pickle_protocol=4)
    save("protocol5_legacy.pt", wanted, pickle_protocol=5, _use_new_zipfile_serialization=False)
    record_values("new_types", new_types())
    save("new_types.pt", new_types())

    module, optimizer = trained()
    state = module.state_dict()
    record_values("module", state)
    save("module.pt", state)
    parameters = dict(module.named_parameters())
    parameters["0.weight"].note = "an attribute of Python"
    attributed = torch.randn(2, 2)
    attributed.note = "another one"
    record_values("parameters", {**parameters, "plain": attributed})
    save("parameters.pt", {**parameters, "plain": attributed})
    del parameters["0.weight"].note
    checkpoint = {
        "epoch": 3,
        "model": "a name",
        "state_dict": collections.OrderedDict(("module." + name, tensor) for name, tensor in state.items()),
        "optimizer": optimizer.state_dict(),
        "args": argparse.Namespace(lr=0.1, layers=[2, 3]),
        "generator": torch.get_rng_state(),
        "best": numpy.float64(0.5),
        "random": numpy.random.get_state(),
        "path": pathlib.PurePosixPath("runs/1"),
    }
    save("checkpoint.pt", checkpoint)
    save("checkpoint_legacy.pt", checkpoint, _use_new_zipfile_serialization=False)
    lightning = {
        "pytorch-lightning_version": "2.5.0",
        "state_dict": {"model._orig_mod." + name: tensor for name, tensor in state.items()},
        "loops": {},
    }
    save("lightning.ckpt", lightning)

    save("whole_module.pt", module)
    save("whole_module_legacy.pt", module, _use_new_zipfile_serialization=False)
    quantized = torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8)
    save("quantized.pt", {"packed.weight": quantized})
    save("sparse.pt", {"sparse.weight": torch.eye(3).to_sparse()})
    save("ema_only.pt", {"ema": state, "optimizer": optimizer.state_dict()})

    plain = {name: tensor.contiguous().clone() for name, tensor in wanted.items() if name != "complex"}
    save_file({**plain, **new_types()}, here / "all_types.safetensors", metadata={"format": "pt"})
    described = {
        name: {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "values": tensor.double().flatten().tolist(),
        }
        for name, tensor in {**plain, **new_types()}.items()
    }
    (here / "all_types.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main()
