#pragma once

#include <cstdint>
#include <string>

#include "runtime/architecture/config_reader.hpp"
#include "runtime/architecture/network.hpp"

namespace troupe {

/// Devlin et al., "BERT" (arXiv:1810.04805), and Liu et al., "RoBERTa" (arXiv:1907.11692), which counts positions from
/// the first token that is no padding, and has other heads; and MPNet (mpnet.hpp).
struct bert_kind {
  std::string prefix;      ///< of the encoder within a model with a head: "bert"
  std::string type;        ///< of the Python classes: "Bert"
  std::string model_type;  ///< in config.json
  bool is_roberta = false;
  bool is_mpnet = false;        ///< besides
  std::int64_t vocabulary = 1;  ///< default
};

struct bert_sizes {
  std::int64_t vocabulary = 1;
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t heads = 1;
  std::int64_t inner = 1;
  std::int64_t positions = 1;
  std::int64_t types = 1;
  std::int64_t padding = 0;
  std::int64_t buckets = 1;  ///< of MPNet's distances
  double epsilon = 0;
  std::string act;
  bool is_tied = true;
};

/// With the defaults of the kind's configuration class.
bert_sizes read_bert_sizes(config_reader& config, const bert_kind& kind);

/// Inputs, embeddings and layers, in the module that is entered: [N, S, hidden].
tensor_value bert_encoder(network& net, const bert_kind& kind, const bert_sizes& sizes);

}  // namespace troupe
