"""Writes event files as the tensorboard package makes them, beside this script: scalars.events, with fixed times.

    pip install tensorboard==2.21.0 && python make_events.py
"""
import os

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

SCALARS = [
    (0, [("eval/accuracy", 0.9904)]),
    (100, [("eval/accuracy", 0.5), ("eval/f1/micro", -1e-30)]),
    (2**63 - 1, [("eval/loss", float("inf")), ("x", float("nan")), ("eval/ä", 0.0)]),
]

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scalars.events"), "wb") as file:
    writer = RecordWriter(file)
    writer.write(event_pb2.Event(wall_time=1234.5, file_version="brain.Event:2").SerializeToString())
    for step, values in SCALARS:
        summary = summary_pb2.Summary(
            value=[summary_pb2.Summary.Value(tag=tag, simple_value=value) for tag, value in values]
        )
        writer.write(event_pb2.Event(wall_time=1700000000.25, step=step, summary=summary).SerializeToString())
    writer.flush()
