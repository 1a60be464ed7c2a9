#pragma once

#include <cstdint>

#include "runtime/edge/edge.hpp"

namespace troupe {

enum class credit_check : std::uint8_t {
  by_slots,
  none,  ///< only in mutation tests, which must then find an edge that holds more than its slots
};

/// Edges between two engines of one process. A slot holds the handles of an activation: no tensor is copied, and after
/// make() no message allocates. Wait-free on both sides: one thread sends, one receives, neither waits for the other.
///
/// Beyond edge.hpp: what the consumer's close() finds undelivered is dropped there and then; what a sender puts in at
/// the same moment is dropped with the edge. A bell is not rung any more once its own end has closed (but a ring that
/// another thread began before may still be under way).
class inproc_edge_factory final : public edge_factory {
 public:
  explicit inproc_edge_factory(credit_check check = credit_check::by_slots) noexcept : check_(check) {}
  [[nodiscard]] edge_ends make(const edge_options& options) override;

 private:
  credit_check check_;
};

}  // namespace troupe
