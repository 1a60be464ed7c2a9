#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/token_table.hpp"

namespace troupe {

/// A token of a word, and the bytes of the word that it stands for.
struct model_token {
  token_table::row row = token_table::none;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Cuts words into tokens of a vocabulary. Threads: any.
class token_model {
 public:
  explicit token_model(token_table table) : table_(std::move(table)) { table_.sort_ids(); }
  virtual ~token_model() = default;
  token_model(const token_model&) = delete;
  token_model& operator=(const token_model&) = delete;

  /// Appends the tokens of `word`, which is not empty. False where one of its parts has no token and there is none for
  /// unknown ones.
  [[nodiscard]] virtual bool tokenize(std::string_view word, std::vector<model_token>& to) const = 0;
  /// The same for a model whose characters stand for bytes (byte_alphabet.hpp): `word` has the bytes, and the spans of
  /// tokens count them.
  [[nodiscard]] virtual bool tokenize_bytes(std::string_view word, std::vector<model_token>& to) const;

  [[nodiscard]] const token_table& table() const noexcept { return table_; }

 private:
  token_table table_;
};

}  // namespace troupe
