"""Prints the scalars of a log folder as TensorBoard reads them: a line "NAME STEP VALUE" for each, in order."""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

accumulator = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
accumulator.Reload()
for name in sorted(accumulator.Tags()["scalars"]):
    for event in accumulator.Scalars(name):
        print(name, event.step, event.value)
