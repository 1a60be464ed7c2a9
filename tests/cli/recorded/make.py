"""Makes the files beside this one, and prints what eager PyTorch gives for them. Run here: python make.py"""

import numpy
import torch
from torch import nn
from torch.ao.quantization import DeQuantStub, QuantStub, convert, get_default_qconfig, prepare, quantize_dynamic

torch.manual_seed(3)
torch.set_num_threads(1)
labels_count, classes = 40, 5


def quantized(model, inputs):
    model.eval().qconfig = get_default_qconfig("fbgemm")  # 7 bits: no processor saturates
    ready = prepare(model)
    ready(inputs)
    return convert(ready)


inputs = torch.randn(400, 1, 6, 6)
static = quantized(
    nn.Sequential(
        QuantStub(), nn.Conv2d(1, 3, 3), nn.ReLU(inplace=True), nn.Flatten(1), nn.Linear(48, classes), DeQuantStub()
    ),
    inputs,
)
dynamic = quantize_dynamic(
    nn.Sequential(nn.Flatten(1), nn.Linear(36, 12), nn.ReLU(), nn.Linear(12, classes)).eval(), {nn.Linear}
)
act, middle = nn.ReLU(), nn.Linear(12, 12)
shared = nn.Sequential(
    nn.Flatten(1), nn.Linear(36, 12), act, middle, act, middle, act, nn.Linear(12, classes)
).eval()
models = {"static": static, "dynamic": dynamic, "shared": shared}

# Samples whose first two scores are well apart: kernels of another processor may round in another way.
apart = torch.ones(len(inputs), dtype=torch.bool)
for model in models.values():
    best = model(inputs).topk(2).values
    apart &= best[:, 0] - best[:, 1] > 0.05
inputs = inputs[apart][:labels_count].contiguous()
labels = torch.randint(0, classes, (labels_count,))
assert len(inputs) == labels_count

numpy.save("inputs.npy", inputs.numpy())
numpy.save("labels.npy", labels.numpy())
for name, model in models.items():
    torch.jit.script(model).save(name + "_scripted.pt")
    torch.jit.trace(model, inputs[:2]).save(name + "_traced.pt")
    scores = model(inputs)
    loss = nn.functional.cross_entropy(scores.double(), labels).item()
    print(name, "correct", (scores.argmax(1) == labels).sum().item(), "loss", loss)
