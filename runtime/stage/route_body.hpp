#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include <troupe/stage_function.hpp>

namespace troupe {

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
