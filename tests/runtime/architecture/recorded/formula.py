"""Weights and inputs by a formula, so that Python and C++ have the same ones without a file (formula_tensors.hpp)."""

import zlib

import numpy
import torch


def noise(name, count):
    """SplitMix64 of the name's CRC-32 and the index, as multiples of 2^-23 from -1 to 1, exact in float32."""
    with numpy.errstate(over="ignore"):
        z = (numpy.uint64(zlib.crc32(name.encode())) << numpy.uint64(32)) + numpy.arange(count, dtype=numpy.uint64)
        z += numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z ^= z >> numpy.uint64(31)
    return z >> numpy.uint64(40)


def uniform(name, shape):
    """float32 from -1 to 1."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    values = noise(name, count).astype(numpy.float32) * numpy.float32(2**-23) - numpy.float32(1)
    return torch.from_numpy(values.reshape(shape))


def below(name, shape, end):
    """Whole numbers from 0 to end - 1."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    return torch.from_numpy((noise(name, count) % numpy.uint64(end)).astype(numpy.int64).reshape(shape))


def weight(name, shape):
    if name.endswith("running_var"):
        return 1 + uniform(name, shape) / 2
    if len(shape) >= 2:
        fan_in = int(numpy.prod(shape[1:]))
        power = 0
        while 4**power * 3 < fan_in:
            power += 1
        return uniform(name, shape) / 2**power
    if name.endswith("weight"):
        return 1 + uniform(name, shape) / 8
    return uniform(name, shape) / 8


def fill(model):
    """Gives all floating weights and buffers of a model their values by formula, and the model in eval mode back."""
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(weight(name, tuple(tensor.shape)))
    return model.eval()
