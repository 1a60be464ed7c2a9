"""The other side of weights_round_trip_test: writes weights with PyTorch and safetensors, and reads what Troupe wrote.

    python round_trip.py write FOLDER     # FOLDER/NAME in each format, and what is in it: FOLDER/wanted.safetensors
    python round_trip.py check FOLDER     # FOLDER/saved.pt and FOLDER/saved.safetensors against wanted.safetensors
"""

import argparse
import collections
import json
import pathlib

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

types = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
]


def random_tensors():
    """Of random types and sizes; some are views of others."""
    torch.seed()
    print("seed", torch.initial_seed())
    tensors = collections.OrderedDict()
    for number in range(40):
        sizes = torch.randint(0, 6, (int(torch.randint(0, 5, ())),)).tolist()
        tensor = (torch.randn(sizes) * 20).abs().to(types[int(torch.randint(0, len(types), ()))])
        tensors[f"layer{number}.weight"] = tensor
        if tensor.dim() >= 2 and number % 2 == 0:
            tensors[f"layer{number}.transposed"] = tensor.transpose(0, 1)
        if tensor.dim() >= 1 and tensor.size(0) > 2:
            tensors[f"layer{number}.part"] = tensor[1::2]
    return tensors


def plain(tensors):
    return {name: tensor.contiguous().clone() for name, tensor in tensors.items()}


def write(folder):
    tensors = random_tensors()
    save_file(plain(tensors), folder / "wanted.safetensors")
    torch.save(tensors, folder / "zip.pt")
    torch.save(tensors, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(tensors, folder / "protocol5.pt", pickle_protocol=5)
    wrapped = {"epoch": 1, "model": {"module." + name: tensor for name, tensor in tensors.items()}, "args": types}
    torch.save(wrapped, folder / "checkpoint.pt")
    names = list(tensors)
    shards = {f"model-{number}.safetensors": names[number::3] for number in range(3)}
    (folder / "sharded").mkdir()
    (folder / "pickled").mkdir()
    for file, part in shards.items():
        save_file(plain({name: tensors[name] for name in part}), folder / "sharded" / file, metadata={"format": "pt"})
        torch.save({name: tensors[name] for name in part}, folder / "pickled" / file)
    for kind, index in (("sharded", "model.safetensors.index.json"), ("pickled", "pytorch_model.bin.index.json")):
        weight_map = {name: file for file, part in shards.items() for name in part}
        (folder / kind / index).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))


def bits(tensor):
    return bytes(tensor.clone(memory_format=torch.contiguous_format).untyped_storage())


def same(found, wanted, where):
    assert sorted(found) == sorted(wanted), where
    for name, tensor in wanted.items():
        other = found[name]
        assert other.dtype == tensor.dtype and other.shape == tensor.shape, (where, name)
        assert bits(other) == bits(tensor), (where, name)


def check(folder):
    wanted = load_file(folder / "wanted.safetensors")
    same(torch.load(folder / "saved.pt", weights_only=True), wanted, "saved.pt")
    same(torch.load(folder / "saved.pt", weights_only=True, mmap=True), wanted, "saved.pt, mapped")
    same(load_file(folder / "saved.safetensors"), wanted, "saved.safetensors")
    with safe_open(folder / "saved.safetensors", "pt") as opened:
        assert opened.metadata() == {"format": "pt"}
    tied = torch.load(folder / "tied.pt", weights_only=True)
    assert tied["a"].data_ptr() == tied["b"].data_ptr(), "tensors that shared memory do no longer"
    torch.nn.Linear(2, 3).load_state_dict(torch.load(folder / "linear.pt", weights_only=True))


def main():
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("what", choices=["write", "check"])
    reader.add_argument("folder", type=pathlib.Path)
    given = reader.parse_args()
    {"write": write, "check": check}[given.what](given.folder)


if __name__ == "__main__":
    main()
