#!/usr/bin/env python3
"""Writes batches.csv: what DeepSpeed's own DeepSpeedConfig makes of batch numbers.

    DS_ACCELERATOR=cpu python3 record.py        (with torch 2.11 and deepspeed 0.17.6)

A row has train_batch_size, train_micro_batch_size_per_gpu and gradient_accumulation_steps as they are given (empty: not
given), the world size, and the three numbers that come out; nothing comes out where DeepSpeed's assertions fail.
"""
import itertools
import logging
import pathlib
import random

from deepspeed import comm
from deepspeed.runtime.config import DeepSpeedConfig

KEYS = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


class DataParallel:
    """DeepSpeed asks such an object for the world size of its rule."""

    def __init__(self, size):
        self.size = size

    def get_data_parallel_world_size(self):
        return self.size


def resolved(given, replicas):
    """The three numbers; None where they are refused."""
    config = {key: number for key, number in zip(KEYS, given) if number is not None}
    try:
        made = DeepSpeedConfig(config, mpu=DataParallel(replicas))
    except AssertionError:
        return None
    return [getattr(made, key) for key in KEYS]


def cases(draw):
    """Numbers that fit and numbers that do not, for each set of keys."""
    for is_given in itertools.product((True, False), repeat=3):
        for _ in range(30):
            replicas, micro, steps = draw.choice((1, 1, 2, 3, 4, 7, 256)), draw.randint(1, 9), draw.randint(1, 6)
            train = draw.choice((micro * steps * replicas, draw.randint(1, 64), draw.randint(1, 4096)))
            yield [number if given else None for number, given in zip((train, micro, steps), is_given)], replicas


def main():
    logging.disable(logging.CRITICAL)
    comm.get_rank = lambda *_: 0  # of one process that has joined no group
    rows = {}
    for given, replicas in cases(random.Random(48)):
        row = ["" if number is None else number for number in given] + [replicas] + (resolved(given, replicas) or [""] * 3)
        rows[",".join(map(str, row))] = None
    path = pathlib.Path(__file__).parent / "batches.csv"
    path.write_text("train,micro,steps,world,train_is,micro_is,steps_is\n" + "".join(f"{row}\n" for row in rows))


main()
