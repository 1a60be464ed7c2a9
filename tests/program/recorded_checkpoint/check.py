"""check.py DIR TAG: reads a checkpoint that Troupe saved, of the weights in state.pt, as DeepSpeed's loaders do."""

import pathlib
import sys

import torch

here = pathlib.Path(__file__).parent
dir, tag = pathlib.Path(sys.argv[1]), sys.argv[2]
assert (dir / "latest").read_text().strip() == tag
wanted = torch.load(here / "state.pt", weights_only=True)
paths = ["conv1", "bn1", "relu", "layer1.0", "layer1.1", "pool", "flatten", "fc"]
found = {}
for index, path in enumerate(paths):
    layer = torch.load(dir / tag / f"layer_{index:02d}-model_states.pt", weights_only=True)
    found.update({f"{path}.{name}": value for name, value in layer.items()})
assert list(found) == list(wanted), list(found)
for name, value in wanted.items():
    assert torch.equal(found[name], value) and found[name].dtype == value.dtype, name
state = torch.load(dir / tag / "mp_rank_00_model_states.pt", weights_only=True)
for name in ("module", "sparse_tensor_module_names", "skipped_steps", "global_steps", "dp_world_size", "mp_world_size"):
    assert name in state, name
assert state["epoch"] == 7 and state["list"] == [1, 2.5, "x", True, None]
assert torch.equal(state["mean"], torch.arange(3))
