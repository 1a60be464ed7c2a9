"""Builds the models of zoo_models.py and exports each in up to three forms.

Usage: python make_zoo.py FOLDER [NAME ...]      (torch 2.11, torchvision 0.26, transformers 4.57; about 4 GB)

FOLDER/NAME/ gets traced.pt, scripted.pt and exported.pt2, as far as PyTorch can make them; data.pt, a scripted module
without code whose attributes are inputs and eager outputs of 2 and of 3 samples (in2_0, out2_0, in3_0, ...) with their
names (`inputs`, `outputs`); batch2.npz and batch3.npz, the same by name. All exports are made with 4 samples. FOLDER/log.jsonl
gets one line per model: what could be exported, and why not.
"""

import copy
import json
import logging
import multiprocessing
import os
import sys
import time
import warnings

import numpy
import torch
from torch import nn

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
import transformers  # noqa: E402
from transformers.integrations.executorch import sdpa_mask_without_vmap  # noqa: E402
from transformers.masking_utils import AttentionMaskInterface  # noqa: E402

from zoo_models import MODELS  # noqa: E402

# The mask of decoders is made with vmap otherwise, which neither torch.jit.trace nor torch.export can write.
AttentionMaskInterface._global_mapping["sdpa"] = sdpa_mask_without_vmap
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
EXPORT_BATCH, BATCHES = 4, (2, 3)


def spread_weights(model):
    """Weights that change something: new normalisations have the statistics 0 and 1, and some heads are zero."""
    for weight in model.parameters():
        if weight.dim() > 1 and not weight.any():
            weight.normal_(0, 0.02)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)


def flat(output, name=""):
    """The tensors of an output with their names, in the order of a flat list."""
    if isinstance(output, torch.Tensor):
        return [(name, output)]
    if output is None:
        return []
    pairs = output.items() if isinstance(output, dict) else enumerate(output)
    return [leaf for key, value in pairs for leaf in flat(value, f"{name}.{key}" if name else str(key))]


def record(model, inputs_of_batch, folder):
    """Writes the inputs and eager outputs. Whether weights that require no gradients give the same bits: PyTorch folds
    some products of matrices only where one requires gradients, and Troupe's weights never do."""
    data, is_equal = nn.Module(), True
    for batch in BATCHES:
        inputs = inputs_of_batch(batch)
        outputs = flat(copy.deepcopy(model)(**inputs))
        others = flat(copy.deepcopy(model).requires_grad_(False)(**inputs))
        is_equal = is_equal and all(torch.equal(one, other) for (_, one), (_, other) in zip(outputs, others))
        for prefix, pairs in (("in", inputs.items()), ("out", outputs)):
            for position, (_, tensor) in enumerate(pairs):
                data.register_buffer(f"{prefix}{batch}_{position}", tensor.clone().contiguous())
        arrays = {**inputs, **{f"output.{name}" if name else "output": tensor for name, tensor in outputs}}
        numpy.savez(f"{folder}/batch{batch}.npz", **{name: tensor.numpy() for name, tensor in arrays.items()})
    scripted = torch.jit.script(data)
    names = torch._C.ListType(torch._C.StringType.get())
    scripted._c._register_attribute("inputs", names, list(inputs))
    scripted._c._register_attribute("outputs", names, [name for name, _ in outputs])
    scripted.save(f"{folder}/data.pt")
    return is_equal


def traced(model, inputs, path):
    torch.jit.trace(model, example_kwarg_inputs=inputs, strict=False, check_trace=False).save(path)


def scripted(model, inputs, path):
    torch.jit.script(model).save(path)


def exported(model, inputs, path):
    batch = torch.export.Dim("batch", min=1, max=4096)
    shapes = {name: {0: batch} for name in inputs}
    program = torch.export.export(model, (), inputs, dynamic_shapes=shapes, strict=False)
    torch.export.save(program, path)


FORMS = {"traced.pt": traced, "scripted.pt": scripted, "exported.pt2": exported}


def outcome(export, model, inputs, path):
    """How an export went: its seconds and bytes, or why it failed."""
    start = time.time()
    try:
        export(copy.deepcopy(model), inputs, path)
    except Exception as error:  # whatever PyTorch throws is what the table reports
        if os.path.exists(path):
            os.remove(path)
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return {"failed": f"{type(error).__name__}: {lines[0][:240] if lines else ''}"}
    return {"bytes": os.path.getsize(path), "seconds": round(time.time() - start, 1)}


@torch.no_grad()
def line_of(name, folder):
    """Builds, records and exports one model; what the log says of it."""
    make, inputs_of_batch = MODELS[name]
    os.makedirs(folder, exist_ok=True)
    line = {"name": name}
    try:
        torch.manual_seed(11)
        model = make().eval()
        spread_weights(model)
        line["equal_without_gradients"] = record(model, inputs_of_batch, folder)
    except Exception as error:  # the model itself does not run: the others are still made
        return {**line, "failed": f"{type(error).__name__}: {error}"}
    inputs = inputs_of_batch(EXPORT_BATCH)
    line["parameters"] = sum(weight.numel() for weight in model.parameters())
    for form, export in FORMS.items():
        line[form] = outcome(export, model, inputs, f"{folder}/{form}")
    return line


def main(folder, names):
    os.makedirs(folder, exist_ok=True)
    # A process for each: after torch.jit.script has failed for one model, it may fail for any other in this process.
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool, open(f"{folder}/log.jsonl", "a") as log:
        for name in names or MODELS:
            line = pool.apply(line_of, (name, f"{folder}/{name}"))
            print(json.dumps(line), file=log, flush=True)
            print(name, line.get("failed", [form for form in FORMS if "failed" not in line.get(form, {})]), flush=True)


main(sys.argv[1], sys.argv[2:])
