#!/usr/bin/env python3
"""Exports a model of torchvision or transformers by name, for `troupe eval --model FILE`.

    scripts/export_model.py resnet18 --weights resnet18.pth        torchvision, with a state dict
    scripts/export_model.py resnet18 --data                        with random weights, and data to try it with
    scripts/export_model.py folder/of/a/model                      transformers: config.json and weights
    scripts/export_model.py BertForSequenceClassification --config num_labels=3,num_hidden_layers=2

It needs torch 2.11, and torchvision or transformers; it reads nothing from the network. The file can take any number of
samples at once. docs/exporting.md says what to write for a model of your own.
"""
import argparse
import inspect
import json
import logging
import os
import sys
import warnings
import zipfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
# What PyTorch says, and what it means.
CAUSES = {
    "variable number of arguments": "torch.jit.script takes no model whose code has *args or **kwargs: leave --form out",
    "unordered_map::at": "a mask is made with vmap, which torch.jit.trace cannot write: leave --form out",
    "data-dependent": "the code branches on values of a tensor: write torch.cond, or use --form scripted",
    "Constraints violated": "the code fixes the number of samples: use x.shape[0] in place of a number",
    "consistent type": "torch.jit.trace takes no output that holds a dict or a tuple in a dict: leave --form out",
}


def stop(reason):
    sys.exit(f"export_model.py: {reason}")


def library(name):
    try:
        return __import__(name)
    except ImportError:
        stop(f"this needs {name}: pip install {name}")


torch = library("torch")


def from_transformers(name, config):
    """A folder with config.json, or the name of a class, which gets random weights."""
    transformers = library("transformers")
    transformers.logging.set_verbosity_error()
    if os.path.isdir(name):
        if not os.path.exists(f"{name}/config.json"):
            stop(f"{name} has no config.json, which a model of transformers has")
        settings = transformers.AutoConfig.from_pretrained(name, local_files_only=True, **config)
        kind = (settings.architectures or ["AutoModel"])[0]
        return getattr(transformers, kind).from_pretrained(name, config=settings, local_files_only=True)
    kind = getattr(transformers, name, None)
    if not hasattr(kind, "config_class") or kind.config_class is None:
        stop(f"neither torchvision nor transformers has a model {name}, and there is no such folder")
    settings = kind.config_class(**config)
    return kind(settings)


def made(arguments):
    """The model and whether it is one of transformers."""
    if not os.path.isdir(arguments.model) and not arguments.model[:1].isupper():
        torchvision = library("torchvision")
        if arguments.model in torchvision.models.list_models():
            build = torchvision.models.get_model_builder(arguments.model)
            weights = [name for name in inspect.signature(build).parameters if name.startswith("weights")]
            return build(**dict.fromkeys(weights), **arguments.config), False
    return from_transformers(arguments.model, arguments.config), True


def prepare_decoder(model):
    """What the decoders of transformers need: no cache of keys, and a mask that is made without vmap."""
    from transformers.integrations.executorch import sdpa_mask_without_vmap
    from transformers.masking_utils import AttentionMaskInterface

    AttentionMaskInterface._global_mapping["sdpa"] = sdpa_mask_without_vmap
    model.config.use_cache = False


def example(model, is_transformer, samples, size, length):
    """Inputs by name."""
    parameters = inspect.signature(model.forward).parameters
    first = model.main_input_name if is_transformer else next(iter(parameters))
    settings = getattr(model, "config", None)
    if first == "input_ids" and hasattr(settings, "vocab_size"):
        length = min(length, getattr(settings, "max_position_embeddings", None) or length)
        shape = (samples, length)
        inputs = {first: torch.randint(3, settings.vocab_size, shape)}
        if "attention_mask" in parameters:
            inputs["attention_mask"] = torch.ones(shape, dtype=torch.long)
            inputs["attention_mask"][-1, length * 3 // 4 :] = 0
        if settings.is_encoder_decoder and "decoder_input_ids" in parameters:
            inputs["decoder_input_ids"] = torch.randint(3, settings.vocab_size, shape)
        return inputs
    if first == "input_values":
        return {first: torch.randn(samples, 16000)}
    if is_transformer and first != "pixel_values":
        stop(f"no example is known for the inputs of {type(model).__name__}: see docs/exporting.md")
    side = getattr(settings, "image_size", None) or size
    return {first: torch.randn(samples, getattr(settings, "num_channels", 3), side, side)}


def export(model, inputs, form, path):
    if form == "scripted":
        return torch.jit.script(model).save(path)
    if form == "traced":
        return torch.jit.trace(model, example_kwarg_inputs=inputs, strict=False, check_trace=False).save(path)
    batch = torch.export.Dim("batch", min=1, max=65536)
    shapes = {name: {0: batch} for name in inputs}
    torch.export.save(torch.export.export(model, (), inputs, dynamic_shapes=shapes, strict=False), path)
    with zipfile.ZipFile(path) as archive:
        if not any(entry.endswith("models/model.json") for entry in archive.namelist()):
            raise RuntimeError("torch.export.save wrote an archive without a model")


def write_data(model, inputs, path):
    """Inputs by name, and as labels what the model gives: the best classes, or the output itself."""
    import numpy

    output = model(**inputs)
    output = output if isinstance(output, torch.Tensor) else list(output.values() if isinstance(output, dict) else output)[0]
    labels = output.argmax(1) if output.dim() == 2 else output
    numpy.savez(path, labels=labels.numpy(), **{name: tensor.numpy() for name, tensor in inputs.items()})
    return "accuracy" if output.dim() == 2 else "mse"


def pairs(text):
    """num_labels=3,hidden_act=relu: values are JSON where they can be."""
    found = {}
    for each in filter(None, text.split(",")):
        name, equals, value = each.partition("=")
        if not equals:
            stop(f"--config takes NAME=VALUE,..., and {each} has no =")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a name of torchvision.models, a class of transformers, or a folder")
    parser.add_argument("--form", choices=["exported", "traced", "scripted"], default="exported",
                        help="torch.export (.pt2, the default), torch.jit.trace or torch.jit.script (.pt)")
    parser.add_argument("--output", help="the file; NAME.pt2 or NAME.pt if left out")
    parser.add_argument("--weights", help="a state dict for a model of torchvision")
    parser.add_argument("--config", default="", help="NAME=VALUE,... for the model's constructor or configuration")
    parser.add_argument("--seed", type=int, default=0, help="of random weights and of the example")
    parser.add_argument("--data", action="store_true", help="also write NAME.npz with 16 samples and the model's outputs")
    parser.add_argument("--size", type=int, default=224, help="height and width of images, where the model does not say")
    parser.add_argument("--length", type=int, default=64, help="tokens per sample")
    arguments = parser.parse_args()
    arguments.config = pairs(arguments.config)
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # labels have the bits of one thread
    try:
        model, is_transformer = made(arguments)
        if arguments.weights:
            model.load_state_dict(torch.load(arguments.weights, map_location="cpu", weights_only=True))
    except Exception as error:  # of many kinds: a bad value of --config, a file that is none, keys that do not fit
        stop(f"{arguments.model} cannot be made: {type(error).__name__}: {error}")
    model.eval()
    if is_transformer:
        prepare_decoder(model)
    ending = ".pt2" if arguments.form == "exported" else ".pt"
    path = arguments.output or os.path.basename(os.path.normpath(arguments.model)) + ending
    data = os.path.splitext(path)[0] + ".npz"
    # 4 samples: a graph that is made with one sample may hold for one sample only.
    inputs = {count: example(model, is_transformer, count, arguments.size, arguments.length) for count in (4, 16)}
    with torch.no_grad():
        try:
            export(model, inputs[4], arguments.form, path)
        except Exception as error:  # PyTorch throws types of many kinds
            if os.path.exists(path):
                os.remove(path)  # an archive without a model may be left
            cause = next((words for text, words in CAUSES.items() if text in str(error)), "see docs/exporting.md")
            first = (str(error).strip().splitlines() or [""])[0]
            stop(f"{arguments.model} cannot be exported: {cause}\n  PyTorch: {type(error).__name__}: {first}")
        print(f"{path}: {os.path.getsize(path)} bytes")
        if arguments.data:
            metric = write_data(model, inputs[16], data)
            print(f"try it: troupe eval --model {path} --data npz:{data} --metrics {metric} --optimize none")


main()
