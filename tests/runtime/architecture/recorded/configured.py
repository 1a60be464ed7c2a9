"""Records what models of transformers give: python configured.py, with torch 2.11 and transformers 4.57.6.

For each model a JSON file: its configuration, names, types and sizes of its state dict, and for each mask the outputs of PyTorch, for
weights and inputs by formula.py. The same of published sizes, without outputs, in published.json.
"""

import json
import pathlib

import torch
import transformers

import formula

FOLDER = pathlib.Path(__file__).parent
torch.set_num_threads(1)
BATCH, LENGTH = 3, 7
MASKS = {
    "none": None,
    "ones": [[1] * LENGTH] * BATCH,
    "right": [[1] * LENGTH, [1] * 4 + [0] * 3, [1] + [0] * 6],
    "left": [[1] * LENGTH, [0] * 3 + [1] * 4, [0] * 6 + [1]],
    "empty": [[1] * LENGTH, [0] * LENGTH, [1, 0, 1, 1, 0, 1, 0]],
}


def names_of(model):
    """As files have them: a weight that two modules share has the first of its names."""
    return [[key, str(each.dtype).removeprefix("torch."), list(each.shape)] for key, each in model.named_parameters()]


def fill(model):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(formula.weight(name, tuple(weight.shape)))
    return model.eval()


def inputs_of(model, mask):
    """Ids by formula; where the mask is 0, those of padding, as tokenizers give them."""
    shape = (BATCH, LENGTH) if mask is None else (len(mask), len(mask[0]))
    ids = formula.below("input input_ids", shape, model.config.vocab_size)
    given = {"input_ids": ids}
    if mask is not None:
        given["attention_mask"] = torch.tensor(mask)
        given["input_ids"] = torch.where(given["attention_mask"] == 1, ids, model.config.pad_token_id or 0)
    return given


def case_of(model, mask, extra):
    given = inputs_of(model, mask) | {name: formula.below(f"input {name}", (BATCH, LENGTH), end) for name, end in extra.items()}
    with torch.no_grad():
        out = model(**given)
    outputs = {name: {"sizes": list(each.shape), "values": [float(f"{v:.8g}") for v in each.float().flatten()]} for name, each in out.items()}
    assert all(torch.isfinite(each).all() for each in out.values())
    return {"inputs": {name: each.tolist() for name, each in given.items()}, "outputs": outputs}


def record(file, name, config, masks=tuple(MASKS), extra=None, dtype=torch.float32, attention="sdpa"):
    kind = getattr(transformers, name)
    config = kind.config_class(**config)
    config._attn_implementation = attention
    config.use_cache = False
    model = fill(kind(config)).to(dtype)
    for rotary in [each for each in model.modules() if hasattr(each, "inv_freq")]:
        rotary.inv_freq = rotary.rope_init_fn(config, None)[0]  # as from_pretrained gives it in any type
    text = config.to_diff_dict() | {"architectures": [name]}
    text.pop("transformers_version", None)
    cases = {mask: case_of(model, MASKS[mask], extra or {}) for mask in masks}
    (FOLDER / f"{file}.json").write_text(json.dumps({"config": text, "weights": names_of(model), "cases": cases}) + "\n")


BERT = {"vocab_size": 31, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20, "max_position_embeddings": 11, "type_vocab_size": 2}
ROBERTA = BERT | {"pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
MPNET = {key: value for key, value in BERT.items() if key != "type_vocab_size"}
DISTIL = {"vocab_size": 31, "dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 20, "max_position_embeddings": 11}
GPT2 = {"vocab_size": 29, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 9, "bos_token_id": 0, "eos_token_id": 0}
LLAMA = {"vocab_size": 29, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 20, "max_position_embeddings": 64}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
FEW = ("none", "right")
NO_EMPTY = ("none", "ones", "right", "left")

if __name__ == "__main__":
    record("bert_base", "BertModel", BERT)
    record("bert_types", "BertModel", BERT | {"hidden_act": "gelu_new"}, FEW, {"token_type_ids": 2})
    record("bert_classes", "BertForSequenceClassification", BERT | {"num_labels": 5}, FEW)
    record("bert_answer", "BertForQuestionAnswering", BERT | {"hidden_act": "relu"}, FEW)
    record("bert_masked", "BertForMaskedLM", BERT, FEW)
    record("bert_untied", "BertForMaskedLM", BERT | {"tie_word_embeddings": False, "hidden_act": "silu"}, FEW)
    record("roberta_base", "RobertaModel", ROBERTA)
    record("roberta_classes", "RobertaForSequenceClassification", ROBERTA | {"num_labels": 3}, FEW)
    record("roberta_answer", "RobertaForQuestionAnswering", ROBERTA, FEW)
    record("roberta_masked", "RobertaForMaskedLM", ROBERTA | {"hidden_act": "quick_gelu"}, FEW)
    record("xlm_roberta_masked", "XLMRobertaForMaskedLM", ROBERTA, FEW)
    record("mpnet_base", "MPNetModel", MPNET, attention="eager")
    record("mpnet_classes", "MPNetForSequenceClassification", MPNET | {"num_labels": 3}, FEW, attention="eager")
    record("mpnet_masked", "MPNetForMaskedLM", MPNET, FEW, attention="eager")
    MASKS["long"] = [[1] * 150]
    record("mpnet_long", "MPNetModel", MPNET | {"hidden_size": 4, "num_attention_heads": 2, "max_position_embeddings": 160}, ("none", "long"), attention="eager")
    record("distilbert_base", "DistilBertModel", DISTIL)
    record("distilbert_classes", "DistilBertForSequenceClassification", DISTIL | {"num_labels": 4}, FEW)
    record("distilbert_answer", "DistilBertForQuestionAnswering", DISTIL | {"activation": "relu"}, FEW)
    record("distilbert_masked", "DistilBertForMaskedLM", DISTIL, FEW)
    record("gpt2_base", "GPT2Model", GPT2)
    record("gpt2_head", "GPT2LMHeadModel", GPT2 | {"n_inner": 17, "activation_function": "gelu"}, NO_EMPTY)
    record("gpt2_scales", "GPT2LMHeadModel", GPT2 | {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}, FEW, attention="eager")
    record("llama_base", "LlamaModel", LLAMA | {"head_dim": 6, "attention_bias": True, "mlp_bias": True})
    record("llama_head", "LlamaForCausalLM", LLAMA, NO_EMPTY)
    record("llama3_head", "LlamaForCausalLM", LLAMA | {"rope_theta": 500.0, "rope_scaling": LLAMA3, "tie_word_embeddings": True, "num_key_value_heads": 1}, FEW)
    record("llama_linear", "LlamaForCausalLM", LLAMA | {"rope_scaling": {"type": "linear", "factor": 2.0}, "num_key_value_heads": 4}, FEW)
    record("llama_bfloat16", "LlamaForCausalLM", LLAMA, FEW, dtype=torch.bfloat16)
    record("qwen2_base", "Qwen2Model", LLAMA)
    record("qwen2_window", "Qwen2ForCausalLM", LLAMA | {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1, "tie_word_embeddings": True}, NO_EMPTY)
    record("mistral_window", "MistralForCausalLM", LLAMA | {"sliding_window": 4, "head_dim": 8}, NO_EMPTY)
    record("mistral_whole", "MistralForCausalLM", LLAMA | {"sliding_window": None}, FEW)
