#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/engine/stage_body.hpp"
#include "runtime/tensor/named_tensors.hpp"

namespace troupe {

/// Which samples a case takes: bool [N], row k for sample k of the input. Pure: the same input, the same answer.
using route_predicate = std::function<at::Tensor(const named_tensors& inputs)>;

/// One way out of a route. Without a predicate it takes what no case before it took.
struct route_case {
  /// The output port.
  std::string name;
  route_predicate predicate = nullptr;
};

/// A predicate asked sample by sample: gets every tensor without its dimension 0.
route_predicate for_each_sample(std::function<bool(const named_tensors& sample)> predicate);

/// Splits a micro-batch: every sample goes to the first case that takes it. Parts keep the id and the sample's place.
/// E0602 for a predicate's answer of a wrong shape or dtype.
class route_body final : public stage_body {
 public:
  route_body(std::string name, std::vector<route_case> cases);

  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;

 private:
  [[nodiscard]] expected<std::vector<std::vector<std::uint32_t>>> split(const named_tensors& given,
                                                                        std::size_t rows) const;

  std::string name_;
  std::vector<route_case> cases_;
};

/// Puts the parts of one micro-batch together again, in sample order; empty parts add nothing. Labels travel with their
/// samples. E0602 for parts that hold a sample twice (that is no split: use a stage with several inputs), or other
/// tensors than the first.
class join_body final : public stage_body {
 public:
  explicit join_body(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;

 private:
  std::string name_;
};

}  // namespace troupe
