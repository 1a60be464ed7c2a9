#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// Appends the embeddings of one micro-batch to the rows of a metric: outputs [samples, dimensions], and the labels of
/// a table of texts with each-alone: "pair", "side", and "score" where there is one. Multiples of 8 bytes. Errors:
/// E0603 for other outputs and labels, and for more than embedding_dimensions_max.
expected<void> append_embeddings(const std::string& metric, const scored_part& part, std::vector<std::byte>& rows);

inline constexpr std::uint64_t embedding_dimensions_max = 1u << 20;

/// Two sentences, by the rows of their embeddings.
struct sentence_pair {
  std::uint64_t pair = 0;
  /// NaN for an embedding of zeros, or with NaN.
  double cosine = 0;
  /// NaN where the data have no score.
  double score = 0;
};

/// The pairs in the rows of append_embeddings(), in the order in which they become complete.
class sentence_pairs {
 public:
  /// Rows of one or more micro-batches. Rows of other forms, which another process may have sent, are left out.
  [[nodiscard]] std::vector<sentence_pair> add(std::span<const std::byte> rows);

 private:
  struct embedding {
    std::uint64_t side = 0;
    std::vector<float> values = {};
  };

  /// Those whose other side has not come.
  std::map<std::uint64_t, embedding> single_;
};

}  // namespace troupe
