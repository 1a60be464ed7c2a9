#include "runtime/training/running_statistics.hpp"

#include <cstdint>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace troupe {
namespace {

constexpr std::int64_t columns = 2;

tl::unexpected<error> malformed(const std::string& cause) {
  return fail(error_code::wire_malformed, "statistics of another replica", cause,
              "run the same program on all hosts; if it does, check the memory of the hosts");
}

}  // namespace

void running_statistics::add_mean(std::size_t buffer, double momentum, const at::Tensor& value) {
  records_.push_back({buffer, momentum, value.detach().to(at::kCPU, at::kDouble)});
}

void running_statistics::add_count(std::size_t buffer, double count) {
  records_.push_back({buffer, -1, at::full({1}, count, at::kDouble)});
}

void running_statistics::append(running_statistics later) {
  for (record& each : later.records_) records_.push_back(std::move(each));
}

std::vector<at::Tensor> running_statistics::packed() const {
  const at::Tensor table = at::empty({static_cast<std::int64_t>(records_.size()), columns}, at::kDouble);
  auto* next = table.mutable_data_ptr<double>();
  std::vector<at::Tensor> values;
  for (const record& each : records_) {
    *next++ = static_cast<double>(each.buffer);
    *next++ = each.momentum;
    values.push_back(each.value.reshape({-1}));
  }
  return {table, values.empty() ? at::empty({0}, at::kDouble) : at::cat(values)};
}

expected<void> running_statistics::add_packed(std::span<const at::Tensor> packed, std::span<const at::Tensor> buffers) {
  const bool has_form = packed.size() == 2 && packed[0].dim() == 2 && packed[0].size(1) == columns &&
                        packed[1].dim() == 1 && packed[0].scalar_type() == at::kDouble &&
                        packed[1].scalar_type() == at::kDouble;
  if (!has_form) return malformed("they have another form");
  const at::Tensor table = packed[0].contiguous();
  const auto* next = table.const_data_ptr<double>();
  std::int64_t offset = 0;
  for (std::int64_t row = 0; row < table.size(0); ++row) {
    const double buffer = *next++;
    const double momentum = *next++;
    if (!(buffer >= 0 && buffer < static_cast<double>(buffers.size()))) return malformed("they name no buffer");
    const auto at = static_cast<std::size_t>(buffer);
    const std::int64_t size = momentum < 0 ? 1 : buffers[at].numel();
    if (size > packed[1].size(0) - offset) return malformed("values are missing");
    records_.push_back({at, momentum, packed[1].narrow(0, offset, size).clone()});
    offset += size;
  }
  if (offset != packed[1].size(0)) return malformed("they have more values than buffers");
  return {};
}

std::vector<at::Tensor> running_statistics::folded_into(std::span<const at::Tensor> buffers) const {
  std::vector<at::Tensor> made(buffers.begin(), buffers.end());
  for (const record& each : records_) {
    at::Tensor& buffer = made[each.buffer];
    const at::Tensor before = buffer.to(at::kDouble).reshape({-1});
    const at::Tensor after =
        each.momentum < 0 ? before.add(each.value) : each.value.mul(each.momentum).add(before.mul(1 - each.momentum));
    buffer = after.to(buffer.scalar_type()).reshape(buffer.sizes());
  }
  return made;
}

}  // namespace troupe
