#include "runtime/config/batch_rule.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace troupe {
namespace {

batch_sizes filled(const batch_numbers& given, std::int64_t replicas) {
  batch_sizes sizes{given.train_batch_size.value_or(0), given.micro_batch.value_or(0),
                    given.accumulation_steps.value_or(1)};
  if (!given.train_batch_size) {
    sizes.train_batch_size = sizes.micro_batch * sizes.accumulation_steps * replicas;
  } else if (!given.micro_batch) {
    sizes.micro_batch = sizes.train_batch_size / replicas / sizes.accumulation_steps;
  } else if (!given.accumulation_steps) {
    sizes.accumulation_steps = sizes.train_batch_size / sizes.micro_batch / replicas;
  }
  return sizes;
}

std::string product_text(const batch_sizes& sizes, const batch_numbers& given, std::int64_t replicas) {
  const auto number = [](std::int64_t value, bool is_given) {
    return fmt::format("{}{}", value, is_given ? "" : " (computed)");
  };
  return fmt::format("train_micro_batch_size_per_gpu {} x gradient_accumulation_steps {} x {} replica{}",
                     number(sizes.micro_batch, given.micro_batch.has_value()),
                     number(sizes.accumulation_steps, given.accumulation_steps.has_value()), replicas,
                     replicas == 1 ? "" : "s");
}

}  // namespace

tl::expected<batch_sizes, value_problem> resolve_batch(const batch_numbers& given, std::int64_t replicas) {
  if (!given.suffice()) {
    return tl::make_unexpected(value_problem{
        "neither \"train_batch_size\" nor \"train_micro_batch_size_per_gpu\" has a number, so the size of a "
        "micro-batch is not known",
        "write \"train_micro_batch_size_per_gpu\": 64, or give --micro-batch 64"});
  }
  constexpr std::int64_t micro_batch_max = limits::micro_batch_max;
  const batch_sizes sizes = filled(given, replicas);
  const std::int64_t micro_batch = std::clamp<std::int64_t>(sizes.micro_batch, 1, micro_batch_max);
  const std::int64_t right = micro_batch * std::max<std::int64_t>(sizes.accumulation_steps, 1) * replicas;
  if (sizes.train_batch_size == right) return sizes;
  const std::string product = product_text(sizes, given, replicas);
  return tl::make_unexpected(value_problem{sizes.micro_batch > micro_batch_max
                                               ? fmt::format("{} is {}, and a micro-batch has {} samples at the most",
                                                             sizes.train_batch_size, product, micro_batch_max)
                                               : fmt::format("{} is not {}", sizes.train_batch_size, product),
                                           fmt::format("write \"train_batch_size\": {}", right)});
}

}  // namespace troupe
