"""The models of the table: NAME -> (how it is made, its inputs by name for a number of samples).

All have random weights. Models of torchvision have their published size where their file stays small; those of
transformers have the published structure, two layers and a width of 64.
"""

from typing import Optional

import torch
import torch.nn.functional as F
import torchvision.models as vision
import transformers
from torch import Tensor, nn

SEQUENCE, VOCABULARY = 24, 500
small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
text = {"vocab_size": VOCABULARY, **small}
MODELS = {}


def add(name, make, inputs):
    MODELS[name] = (make, inputs)


# --- inputs ------------------------------------------------------------------------------------------------------


def image(side, name="x"):
    return lambda batch: {name: torch.randn(batch, 3, side, side)}


def ids(batch):
    return {"input_ids": torch.randint(5, VOCABULARY, (batch, SEQUENCE))}


def ids_and_mask(batch):
    mask = torch.ones(batch, SEQUENCE, dtype=torch.long)
    mask[-1, SEQUENCE - 5 :] = 0
    return {**ids(batch), "attention_mask": mask}


def numbers(*shape):
    return lambda batch: {"x": torch.randn(batch, *shape)}


def tokens(batch):
    return {"tokens": torch.randint(0, VOCABULARY, (batch, SEQUENCE))}


# --- torchvision -------------------------------------------------------------------------------------------------


def with_narrow_head(model, width):
    """The same model with 256 units where it has 4096, so that its file is not 500 MB."""
    model.classifier = nn.Sequential(nn.Linear(width, 256), nn.ReLU(True), nn.Dropout(), nn.Linear(256, 1000))
    return model


plain = ["resnet18", "resnet50", "resnext50_32x4d", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"]
plain += ["densenet121", "shufflenet_v2_x1_0", "squeezenet1_1", "regnet_x_400mf", "regnet_y_400mf", "mnasnet1_0"]
plain += ["efficientnet_b0", "efficientnet_v2_s", "convnext_tiny", "swin_t", "swin_v2_t"]
for each in plain:
    add(each, getattr(vision, each), image(64))
add("alexnet", lambda: with_narrow_head(vision.alexnet(), 9216), image(96))
add("vgg11_bn", lambda: with_narrow_head(vision.vgg11_bn(), 25088), image(64))
add(
    "wide_resnet",
    lambda: vision.ResNet(vision.resnet.Bottleneck, [1, 1, 1, 1], width_per_group=128, num_classes=100),
    image(64),
)
add("googlenet", lambda: vision.googlenet(aux_logits=False, init_weights=False), image(64))
add("inception_v3", lambda: vision.inception_v3(aux_logits=False, init_weights=False), image(96))
add("maxvit_t", vision.maxvit_t, image(224))
add("vit", lambda: vision.VisionTransformer(32, 8, 3, 4, 64, 128), image(32))
for each in ["deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large", "fcn_resnet50"]:
    make = getattr(vision.segmentation, each)
    inputs = image(64, "input" if each.startswith("lraspp") else "x")
    add(each, lambda make=make: make(weights=None, weights_backbone=None), inputs)
add("r3d_18", vision.video.r3d_18, numbers(3, 4, 32, 32))

# --- transformers ------------------------------------------------------------------------------------------------


def hugging(name, kind, config, inputs, **fields):
    fields = {"return_dict": True, **fields}
    add(name, lambda: getattr(transformers, kind)(getattr(transformers, config)(**fields)), inputs)


for name, prefix, more in [
    ("bert", "Bert", {}),
    ("roberta", "Roberta", {"max_position_embeddings": 64}),
    ("xlm_roberta", "XLMRoberta", {"max_position_embeddings": 64}),
    ("albert", "Albert", {"embedding_size": 32}),
    ("electra", "Electra", {}),
    ("deberta_v2", "DebertaV2", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    ("mpnet", "MPNet", {}),
    ("squeezebert", "SqueezeBert", {"embedding_size": 64}),
]:
    hugging(name, prefix + "ForSequenceClassification", prefix + "Config", ids_and_mask, **text, **more)
hugging("bert_questions", "BertForQuestionAnswering", "BertConfig", ids_and_mask, **text)
hugging("bert_tuple", "BertModel", "BertConfig", ids_and_mask, **{**text, "return_dict": False})
distilled = {"vocab_size": VOCABULARY, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128}
hugging("distilbert", "DistilBertForSequenceClassification", "DistilBertConfig", ids_and_mask, **distilled)
hugging(
    "mobilebert",
    "MobileBertForSequenceClassification",
    "MobileBertConfig",
    ids_and_mask,
    **text,
    embedding_size=32,
    intra_bottleneck_size=32,
)
hugging("gpt2", "GPT2LMHeadModel", "GPT2Config", ids_and_mask, vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4,
        use_cache=False)  # fmt: skip
hugging("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", ids_and_mask, vocab_size=VOCABULARY, hidden_size=64,
        num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], use_cache=False)  # fmt: skip
hugging("opt", "OPTForCausalLM", "OPTConfig", ids_and_mask, **text, ffn_dim=128, word_embed_proj_dim=64,
        max_position_embeddings=64, use_cache=False)  # fmt: skip
hugging("bloom", "BloomForCausalLM", "BloomConfig", ids_and_mask, vocab_size=VOCABULARY, hidden_size=64, n_layer=2,
        n_head=4, use_cache=False)  # fmt: skip
for name in ["Llama", "Qwen2", "Mistral"]:
    hugging(name.lower(), name + "ForCausalLM", name + "Config", ids_and_mask, **text, num_key_value_heads=2,
            use_cache=False)  # fmt: skip
hugging("gemma", "GemmaForCausalLM", "GemmaConfig", ids, **text, num_key_value_heads=2, head_dim=16, use_cache=False)
for name in ["Phi", "GPTNeoX"]:
    hugging(name.lower(), name + "ForCausalLM", name + "Config", ids, **text, use_cache=False)
t5 = {"vocab_size": VOCABULARY, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
hugging("t5_encoder", "T5EncoderModel", "T5Config", ids_and_mask, **t5)
hugging("t5", "T5ForConditionalGeneration", "T5Config",
        lambda batch: {**ids(batch), "decoder_input_ids": torch.randint(5, VOCABULARY, (batch, 12))}, **t5,
        use_cache=False)  # fmt: skip
pixels = {"image_size": 32, "patch_size": 8, **small}
hugging("vit_hugging_face", "ViTForImageClassification", "ViTConfig", image(32, "pixel_values"), **pixels)
hugging("deit", "DeiTForImageClassification", "DeiTConfig", image(32, "pixel_values"), **pixels)
hugging("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", image(32, "pixel_values"), **pixels)
hugging("clip_text", "CLIPTextModel", "CLIPTextConfig", ids_and_mask, **text)
hugging("convnext_hugging_face", "ConvNextForImageClassification", "ConvNextConfig", image(64, "pixel_values"),
        hidden_sizes=[16, 32, 64, 64], depths=[1, 1, 1, 1])  # fmt: skip
hugging("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", image(64, "pixel_values"),
        hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=32)  # fmt: skip
hugging("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", lambda batch: {"input_values": torch.randn(batch, 4000)},
        conv_dim=(32,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, vocab_size=32,
        **small)  # fmt: skip
whisper = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4}
whisper |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_source_positions": 100}
add("whisper_encoder", lambda: transformers.WhisperModel(transformers.WhisperConfig(**whisper)).encoder,
    lambda batch: {"input_features": torch.randn(batch, 80, 200)})  # fmt: skip

# --- models of our own -------------------------------------------------------------------------------------------


def two_convolutions(before, after):
    layers = []
    for width in (before, after):
        layers += [nn.Conv2d(width, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, width=16, levels=4):
        super().__init__()
        widths = [width * 2**level for level in range(levels + 1)]
        steps = list(zip(widths, widths[1:]))
        self.enter = two_convolutions(3, widths[0])
        self.down = nn.ModuleList([two_convolutions(*step) for step in steps])
        self.up = nn.ModuleList([nn.ConvTranspose2d(after, before, 2, stride=2) for before, after in steps[::-1]])
        self.merge = nn.ModuleList([two_convolutions(after, before) for before, after in steps[::-1]])
        self.head = nn.Conv2d(widths[0], 4, 1)

    def forward(self, x):
        skips = [self.enter(x)]
        for down in self.down:
            skips.append(down(F.max_pool2d(skips[-1], 2)))
        y = skips.pop()
        for up, merge in zip(self.up, self.merge):
            y = merge(torch.cat([skips.pop(), up(y)], 1))
        return self.head(y)


class Recurrent(nn.Module):
    def __init__(self, kind, both_ways):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.cells = kind(32, 48, 2, batch_first=True, bidirectional=both_ways)
        self.head = nn.Linear(96 if both_ways else 48, 4)

    def forward(self, tokens):
        return self.head(self.cells(self.embedding(tokens))[0].mean(1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(64, 5)

    def forward(self, x):
        return self.head(self.layers(x)[:, 0])


class Loop(nn.Module):
    """Python's own while and if on values: only scripting keeps them."""

    def __init__(self):
        super().__init__()
        self.turn, self.other, self.head = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, x):
        rounds = 0
        while bool(x.norm() > 4.0) and rounds < 8:
            x = torch.relu(self.turn(x)) * 0.9
            rounds += 1
        if bool(x.mean() > 0.0):
            x = self.other(x)
        else:
            x = x - 1.0
        return self.head(x)


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn, self.head = nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(torch.cond(x.mean() > 0, lambda y: self.turn(y), lambda y: y - 1, (x,)))


class WhileLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn, self.head = nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, x):
        rounds = torch.zeros((), dtype=torch.int64)
        rounds, x = torch._higher_order_ops.while_loop(
            lambda count, y: (count < 8) & (y.norm() > 4.0),
            lambda count, y: (count + 1, torch.relu(self.turn(y)) * 0.9),
            (rounds, x),
        )
        return self.head(x)


class Branches(nn.Module):
    """Two inputs, one of them optional, and a dict of outputs."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(32, 64), nn.Linear(16, 64), nn.Linear(64, 10)

    def forward(self, left, right, scale: Optional[Tensor] = None):
        joined = torch.relu(self.left(left)) + torch.tanh(self.right(right))
        if scale is not None:
            joined = joined * scale
        return {"logits": self.head(joined), "joined": joined}


def chain(widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


add("unet", UNet, image(64))
add("lstm", lambda: Recurrent(nn.LSTM, True), tokens)
add("gru", lambda: Recurrent(nn.GRU, False), tokens)
add("encoder", Encoder, numbers(SEQUENCE, 64))
add("mlp", lambda: chain([64, 256, 256, 256, 10]), lambda batch: {"input": torch.randn(batch, 64)})
# With 3 samples the loops do not turn and the branch is the other one. A trace keeps what it saw with 4.
quiet = lambda batch: {"x": torch.randn(batch, 64) * (0.1 if batch == 3 else 1.0)}
add("loop", Loop, quiet)
add("cond", Cond, lambda batch: {"x": torch.randn(batch, 64) + (-1.0 if batch == 3 else 1.0)})
add("while_loop", WhileLoop, quiet)
add("branches", Branches, lambda batch: {"left": torch.randn(batch, 32), "right": torch.randn(batch, 16)})
