#pragma once

#include <optional>
#include <vector>

#include "runtime/text/token_model.hpp"

namespace troupe {

/// The most probable tokens (Kudo). `scores` are logarithms of probabilities, by row; `unknown` is the row for
/// characters without a token. `adds_in_float`: as SentencePiece itself adds them.
std::unique_ptr<const token_model> make_unigram(token_table table, std::vector<double> scores,
                                                std::optional<token_table::row> unknown, bool has_byte_fallback,
                                                bool adds_in_float = false);

}  // namespace troupe
