#include "runtime/stage/device_body.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include "messages/check.hpp"
#include "runtime/stage/output_reserve.hpp"
#include "runtime/tensor/tensor_description.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

/// As an edge of the host lays it out. What has no rows is left to the edge, which refuses it.
at::Tensor laid_out(const at::Tensor& one) {
  if (one.layout() != at::kStrided || one.is_nested() || is_plain(one)) return one;
  const at::Tensor resolved = one.resolve_conj().resolve_neg();
  return resolved.is_non_overlapping_and_dense() ? resolved : resolved.contiguous();
}

}  // namespace

expected<std::unique_ptr<device_body>> device_body::make(std::shared_ptr<stage_body> inner, c10::Device device,
                                                         std::vector<output_way> ways) {
  return torch_stream::make(device).map([&](torch_stream stream) {
    return std::unique_ptr<device_body>(new device_body(std::move(inner), stream, std::move(ways)));
  });
}

void device_body::on_start() {
  const c10::StreamGuard here(stream_.get());
  inner_->on_start();
}

expected<void> device_body::run(std::span<const activation> inputs, std::span<activation> outputs) {
  TROUPE_CHECK(outputs.size() == ways_.size(), "it is known of every output where it goes");
  const c10::StreamGuard here(stream_.get());
  const c10::InferenceMode inference;
  std::vector<activation> brought(inputs.begin(), inputs.end());
  for (activation& each : brought) {
    each.tensors = each_tensor(each.tensors, [this](const at::Tensor& one) { return stream_.bring(one); });
  }
  std::optional<output_reserve> room;
  if (lends_outputs() && !has_run_) room.emplace(stream_.device());
  if (auto ran = inner_->run(brought, outputs); !ran) {
    auto healthy = stream_.check();
    return healthy ? ran : healthy;
  }
  if (room) room->reserve(outputs);
  has_run_ = true;
  for (std::size_t port = 0; port < outputs.size(); ++port) {
    outputs[port].tensors = send_off(std::move(outputs[port].tensors), ways_[port]);
  }
  ready_ = stream_.record();
  return {};
}

bool device_body::lends_outputs() const {
  return std::ranges::find(ways_, output_way::lent) != ways_.end();
}

payload_ptr device_body::send_off(payload_ptr made, output_way way) const {
  switch (way) {
    case output_way::leaves:
      return each_tensor(made, &torch_stream::fetch);
    case output_way::laid_out:
    case output_way::lent:
      return each_tensor(made, [this](const at::Tensor& one) { return laid_out(stream_.bring(one)); });
    case output_way::stays:
      break;
  }
  return made;
}

}  // namespace troupe
