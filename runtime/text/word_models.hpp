#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/text/token_model.hpp"

namespace troupe {

/// The longest tokens from the left; those behind the first one have a prefix (Schuster and Nakajima).
struct word_piece_options {
  std::string unknown;
  std::string prefix;
  /// A longer word is unknown as a whole.
  std::size_t characters_max = 100;
};
std::unique_ptr<const token_model> make_word_piece(token_table table, const word_piece_options& options);

/// Words are tokens as they are.
std::unique_ptr<const token_model> make_word_level(token_table table, const std::string& unknown);

}  // namespace troupe
