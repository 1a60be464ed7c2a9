"""Records what models of pictures give: python pictures.py, with torch 2.11, torchvision 0.26, transformers 4.57.6 and, for
efficientnet-lite*, the package efficientnet-lite-pytorch 0.1.0.

One JSON file for all. For each model: the number of its weights and the CRC-32 of their names and sizes, and, where an input is given,
the first outputs of eager PyTorch for each sample, for weights and inputs by formula.py.
"""

import json
import pathlib
import sys
import zlib

import torch
import torch.nn.functional as F
import torchvision
import transformers

import formula

FILE = pathlib.Path(__file__).parent / "pictures.json"
OUTPUTS = 8
torch.set_num_threads(1)


class CifarBlock(torch.nn.Module):
    """With a shortcut that has no weights: every second pixel, and channels of zeros on both sides."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(width)
        self.conv2 = torch.nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(width)
        self.stride, self.more = stride, width - channels

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.more:
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more // 2, self.more // 2))
        return F.relu(y + x)


class CifarResNet(torch.nn.Module):
    """github.com/akamaster/pytorch_resnet_cifar10 on pixels from 0 to 1, which its training normalizes outside of the model."""

    def __init__(self, depth):
        super().__init__()
        blocks = (depth - 2) // 6
        self.conv1 = torch.nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(16)
        stage = lambda channels, width: torch.nn.Sequential(
            CifarBlock(channels, width, width // channels), *[CifarBlock(width, width, 1) for _ in range(blocks - 1)])
        self.layer1, self.layer2, self.layer3 = stage(16, 16), stage(16, 32), stage(32, 64)
        self.linear = torch.nn.Linear(64, 10)
        self.normalize = torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(self.normalize(x))))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(F.avg_pool2d(x, x.size(3)).flatten(1))


def names_of(model):
    """Sorted, each with its sizes; without the counters of norms, which no layer reads."""
    return sorted(f"{name} {list(each.shape)}" for name, each in model.state_dict().items() if not name.endswith("num_batches_tracked"))


def fill(model, gain):
    formula.fill(model)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.dim() >= 2:
                tensor.mul_(gain)
    return model


def record(model, shape=None, gain=1):
    names = names_of(model)
    text = {"weights": len(names), "crc": zlib.crc32("\n".join(names).encode())}
    if shape is None:
        return text
    with torch.no_grad():
        out = fill(model, gain)(formula.uniform("input x", shape))
    out = getattr(out, "logits", out)
    # Where the input fades away on its way, models that differ would be alike.
    assert (out[0] - out[1]).abs().max() > 1e-3 * out.abs().max()
    return text | {"gain": gain, "input": list(shape), "output_sizes": list(out.shape), "largest": float(out.abs().max()),
                   "outputs": [[float(f"{v:.8g}") for v in row[:OUTPUTS]] for row in out]}


def record_vit(**sizes):
    config = transformers.ViTConfig(**sizes)
    model = transformers.ViTForImageClassification(config).eval()
    kept = config.to_diff_dict() | {"architectures": ["ViTForImageClassification"]}
    kept.pop("transformers_version", None)
    return record(model, (2, config.num_channels, config.image_size, config.image_size)) | {"config": kept}


def lite(size):
    from efficientnet_lite_pytorch import EfficientNet

    return EfficientNet.from_name(f"efficientnet-lite{size}")


def named(name, shape=None, gain=1, **how):
    with torch.device("meta" if shape is None else "cpu"):
        return record(torchvision.models.get_model(name, **how), shape, gain)


SMALL = (2, 3, 64, 64)
recorded = {name: named(name, SMALL) for name in ("resnet34", "resnet101", "resnet152", "wide_resnet50_2", "densenet121", "vgg11_bn")}
recorded |= {f"resnet{depth}-cifar": record(CifarResNet(depth), (2, 3, 32, 32)) for depth in (20, 32, 44, 56, 110)}
MOBILE = ("efficientnet_b0", "efficientnet_b5", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large")
recorded |= {name: named(name, SMALL, 2) for name in MOBILE}
recorded |= {f"efficientnet-lite{size}": record(lite(size), SMALL, 2) for size in range(5)}
recorded |= {f"efficientnet_b{size}": named(f"efficientnet_b{size}") for size in (1, 2, 3, 4, 6, 7)}
recorded["vit_b_32"] = named("vit_b_32", SMALL, image_size=64)
recorded |= {name: named(name) for name in ("vit_b_16", "vit_l_16", "vit_l_32", "vit_h_14", "densenet161", "densenet169", "densenet201",
                                                  "vgg11", "vgg13", "vgg16", "vgg19", "vgg13_bn", "vgg16_bn", "vgg19_bn")}
TINY = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48, "patch_size": 8}
recorded["vit"] = record_vit(image_size=32, num_labels=10, **TINY)
recorded["vit_other"] = record_vit(image_size=40, num_labels=3, qkv_bias=False, hidden_act="gelu_new", num_channels=1, layer_norm_eps=1e-3, **TINY)
lines = [f'"{name}": {json.dumps(each)}' for name, each in sorted(recorded.items())]
FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
sys.stdout.write(f"{len(recorded)} models\n")
