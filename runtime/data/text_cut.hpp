#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/text_folder.hpp"

namespace troupe {

/// How long samples of texts may be, and what was cut to that.
struct text_lengths {
  /// Nothing: texts are not cut.
  std::optional<std::uint64_t> most = {};
  /// All samples have `most` tokens, by padding.
  bool are_alike = false;
  std::uint64_t texts = 0;
  std::uint64_t cut = 0;

  void count(bool is_cut) noexcept {
    ++texts;
    cut += is_cut ? 1U : 0U;
  }
  /// data_set::remarks().
  [[nodiscard]] std::vector<std::string> remarks() const;
};

/// max-length= and padding=, or what the folder says. Errors: E0103 for padding to a length that nothing says.
expected<text_lengths> lengths_of(const data_request& request, const text_folder& folder);

/// data_set::reading(): the options of the request but the place of the tokenizer, whose files a journal hashes.
std::string reading_of(const data_request& request);

}  // namespace troupe
