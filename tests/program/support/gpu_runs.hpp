// What the tests on a real GPU share: ResNet-20 on the first one, and the numbers of a result.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include <gmock/gmock.h>

#include "messages/try.hpp"
#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::testing {

inline eval_options resnet_on_gpu(std::uint32_t stages, bool in_workers) {
  eval_options options;
  options.model = (data_dir() / "cifar10/resnet20.pt").string();
  options.data = "cifar10:" + (data_dir() / "cifar10/test_batch_1000.bin").string();
  options.metrics = {"accuracy", "cross_entropy"};
  options.run.micro_batch = 32;
  options.optimize = optimize_mode::none;
  options.device = "cuda:0";
  options.stages = stages;
  options.run.workers.enabled = in_workers;
  return options;
}

inline expected<run_result> run_on_gpu(const eval_options& options) {
  auto created = TROUPE_TRY(evaluator::create(options, {}));
  return (created)->run();
}

/// Correct samples, and the bits of the loss.
inline std::pair<std::uint64_t, std::uint64_t> numbers_of(const expected<run_result>& result) {
  EXPECT_TRUE(result) << to_string(result.error());
  if (!result) return {};
  return {(*result)["accuracy"].count("correct"),
          std::bit_cast<std::uint64_t>((*result)["cross_entropy"].value("sum"))};
}

}  // namespace troupe::testing
