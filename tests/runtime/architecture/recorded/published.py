"""Records names and sizes of the weights of published models of transformers, without values: python published.py.

The configurations are those that the models are published with, as far as they are not defaults.
"""

import json
import pathlib

import torch
import transformers

LLAMA3 = {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}
PUBLISHED = {
    "bert-base-uncased": ("BertForMaskedLM", {}),
    "all-MiniLM-L6-v2": ("BertModel", {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6}),
    "roberta-base": ("RobertaForMaskedLM", {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-05}),
    "all-mpnet-base-v2": ("MPNetModel", {"max_position_embeddings": 514, "layer_norm_eps": 1e-05, "relative_attention_num_buckets": 32}),
    "distilbert-base-uncased": ("DistilBertForMaskedLM", {}),
    "gpt2": ("GPT2LMHeadModel", {}),
    "Llama-3.2-1B": (
        "LlamaForCausalLM",
        {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32}
        | {"num_key_value_heads": 8, "head_dim": 64, "max_position_embeddings": 131072, "rope_theta": 500000.0, "rope_scaling": LLAMA3, "tie_word_embeddings": True},
    ),
    "Qwen2-0.5B": (
        "Qwen2ForCausalLM",
        {"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14}
        | {"num_key_value_heads": 2, "rope_theta": 1000000.0, "tie_word_embeddings": True, "sliding_window": 131072, "max_window_layers": 24},
    ),
    "Mistral-7B-v0.1": ("MistralForCausalLM", {}),
}

models = {}
for name, (kind, config) in PUBLISHED.items():
    made = getattr(transformers, kind)
    with torch.device("meta"):
        model = made(made.config_class(**config))
    model.tie_weights()
    weights = [[key, list(each.shape)] for key, each in model.named_parameters()]
    models[name] = {"config": config | {"architectures": [kind]}, "parameters": sum(each.numel() for each in model.parameters()), "weights": weights}
lines = [json.dumps(name) + ": " + json.dumps(each) for name, each in models.items()]
(pathlib.Path(__file__).parent / "published.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
