#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "messages/training.hpp"
#include "runtime/optimizer/trained_parameters.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the memory of one stage replica has, in a copy of which only those pages are read, and take room, that are
/// asked for. Threads: one at a time.
class state_copy {
 public:
  /// Reads in the memory of the stage.
  using fetch_function = std::function<expected<void>(std::uint64_t offset, std::span<std::byte> into)>;

  /// Memory for copies of this layout; the system gives those of its pages that are written to. E0614.
  [[nodiscard]] static expected<at::Tensor> make_room(const parameter_layout& layout);

  /// `room`: of make_room(), with whatever an earlier copy has left there.
  state_copy(const parameter_layout& layout, fetch_function fetch, at::Tensor room)
      : layout_(layout), fetch_(std::move(fetch)), room_(std::move(room)) {}

  /// Reads the page that says what there is. E0620 where the memory is that of other layers.
  [[nodiscard]] expected<void> look();
  /// Null before the stage has made its weights, and after its memory was destroyed.
  [[nodiscard]] trained_parameters* values() const { return values_.get(); }
  /// The weights behind this decision are there; null: those at the start.
  [[nodiscard]] bool has_decided(const std::optional<step_decision>& last) const;
  /// Its gradient is there, and what the decision needs besides.
  [[nodiscard]] bool can_decide(const step_decision& last) const;
  [[nodiscard]] expected<void> read_current();
  [[nodiscard]] expected<void> read_all();

  /// A tensor of values() that keeps the room alive; a copy of any other one, as of a constant.
  [[nodiscard]] at::Tensor kept(const at::Tensor& view) const;

 private:
  [[nodiscard]] std::span<std::byte> bytes() const;
  [[nodiscard]] expected<void> fetch(std::uint64_t offset, std::uint64_t size);

  parameter_layout layout_;
  fetch_function fetch_;
  at::Tensor room_;
  std::unique_ptr<trained_parameters> values_ = nullptr;
};

}  // namespace troupe
