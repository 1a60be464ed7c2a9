#include "runtime/training/running_statistics.hpp"

#include <cmath>
#include <cstdint>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace troupe {
namespace {

constexpr std::int64_t columns = 3;  // kind, buffer, momentum

tl::unexpected<error> malformed(const std::string& cause) {
  return fail(error_code::wire_malformed, "statistics of another replica", cause,
              "run the same program on all hosts; if it does, check the memory of the hosts");
}

/// momentum * value + (1 - momentum) * before. Rounded as in LibTorch's kernel of batch normalisation, which fuses
/// product and sum for variances alone.
template <class Number>
at::Tensor moved(const at::Tensor& before, const at::Tensor& value, double momentum, bool is_fused) {
  at::Tensor made = before.contiguous().clone();
  auto* const numbers = made.mutable_data_ptr<Number>();
  const at::Tensor seen = value.contiguous();
  const auto* const added = seen.const_data_ptr<double>();
  const auto share = static_cast<Number>(momentum);
  const auto rest = static_cast<Number>(1 - momentum);
  for (std::int64_t at = 0; at < made.numel(); ++at) {
    const auto next = static_cast<Number>(added[at]);
    const Number kept = rest * numbers[at];
    const Number product = share * next;
    numbers[at] = is_fused ? std::fma(share, next, kept) : product + kept;
  }
  return made;
}

}  // namespace

void running_statistics::add(record_kind kind, std::size_t buffer, double momentum, const at::Tensor& value) {
  records_.push_back({kind, buffer, momentum, value.detach().to(at::kCPU, at::kDouble)});
}

void running_statistics::add_mean(std::size_t buffer, double momentum, const at::Tensor& value) {
  add(record_kind::mean, buffer, momentum, value);
}

void running_statistics::add_variance(std::size_t buffer, double momentum, const at::Tensor& value) {
  add(record_kind::variance, buffer, momentum, value);
}

void running_statistics::add_count(std::size_t buffer, double count) {
  add(record_kind::count, buffer, 0, at::full({1}, count, at::kDouble));
}

void running_statistics::append(running_statistics later) {
  for (record& each : later.records_) records_.push_back(std::move(each));
}

std::vector<at::Tensor> running_statistics::packed() const {
  const at::Tensor table = at::empty({static_cast<std::int64_t>(records_.size()), columns}, at::kDouble);
  auto* next = table.mutable_data_ptr<double>();
  std::vector<at::Tensor> values;
  for (const record& each : records_) {
    *next++ = static_cast<double>(each.kind);
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
    const double kind = *next++;
    const double buffer = *next++;
    const double momentum = *next++;
    if (!(buffer >= 0 && buffer < static_cast<double>(buffers.size()))) return malformed("they name no buffer");
    if (kind != 0 && kind != 1 && kind != 2) return malformed("they have another kind of value");
    const auto at = static_cast<std::size_t>(buffer);
    const std::int64_t size = kind == 0 ? 1 : buffers[at].numel();
    if (size > packed[1].size(0) - offset) return malformed("values are missing");
    records_.push_back({static_cast<record_kind>(kind), at, momentum, packed[1].narrow(0, offset, size).clone()});
    offset += size;
  }
  if (offset != packed[1].size(0)) return malformed("they have more values than buffers");
  return {};
}

std::vector<at::Tensor> running_statistics::folded_into(std::span<const at::Tensor> buffers) const {
  std::vector<at::Tensor> made(buffers.begin(), buffers.end());
  for (const record& each : records_) {
    at::Tensor& buffer = made[each.buffer];
    if (each.kind == record_kind::count) {
      buffer = buffer.to(at::kDouble).add(each.value.reshape(buffer.sizes())).to(buffer.scalar_type());
    } else if (buffer.scalar_type() == at::kDouble) {
      buffer = moved<double>(buffer, each.value, each.momentum, each.kind == record_kind::variance);
    } else {
      buffer = moved<float>(buffer.to(at::kFloat), each.value, each.momentum, each.kind == record_kind::variance)
                   .to(buffer.scalar_type());
    }
  }
  return made;
}

}  // namespace troupe
