#pragma once

#include <functional>
#include <memory>

#include "runtime/edge/edge.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What a consumer knows of those on the other side. Called on the consumer's thread.
struct arrival_check {
  /// An error says why nothing like this can come.
  std::function<expected<void>(const activation& message)> message;
  /// May say that calls up to this one have ended. Empty: always.
  std::function<bool(call_number call)> ended = {};
  /// Once, on the consumer's thread.
  std::function<void(const error&)> on_damaged;
};

/// A consumer in front of `edge` that hands on only what passes the check. From the first that does not, it is silent,
/// as an edge from a dead peer is.
[[nodiscard]] std::unique_ptr<edge_consumer> check_arrivals(std::unique_ptr<edge_consumer> edge, arrival_check check);

/// Every activation has these: tensors, unless it is an empty part, and no more samples than a micro-batch has.
[[nodiscard]] expected<void> check_form(const activation& message);

}  // namespace troupe
