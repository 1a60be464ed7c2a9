// What simulated runs compute with in place of tensors: numbers in which every mistake shows.
#pragma once

#include <cstdint>
#include <vector>

#include "messages/payload.hpp"
#include "runtime/ledger/call_fold.hpp"

namespace troupe::testing {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15;
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

/// Where an empty part has no word, its place in the digest is taken all the same.
inline std::uint64_t fold_step(std::uint64_t digest, std::uint64_t samples, std::uint64_t word) {
  return mix(mix(digest, samples), word);
}

/// Ids in the order of folding, and a digest over their scores in that order.
struct hash_fold final : call_fold {
  [[nodiscard]] expected<void> fold(const score& next) override {
    folded.push_back(next.id.index);
    digest = fold_step(digest, next.samples, next.words.empty() ? 0 : next.words.front());
    return {};
  }
  std::vector<std::uint64_t> folded;
  std::uint64_t digest = 0;
};

}  // namespace troupe::testing
