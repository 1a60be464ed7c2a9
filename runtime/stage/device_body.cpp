#include "runtime/stage/device_body.hpp"

#include <utility>

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include "messages/check.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

/// `move` on each tensor. Null for null: an empty part.
template <class Move>
payload_ptr moved(const payload_ptr& from, const Move& move) {
  if (from == nullptr) return nullptr;
  const tensor_set& given = as_tensors(from);
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;
  for (std::size_t index = 0; index < given.tensors().size(); ++index) {
    tensors.push_back(move(given.tensors()[index]));
    names.push_back(given.stored_name(index));
  }
  return std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
}

}  // namespace

expected<std::unique_ptr<device_body>> device_body::make(std::shared_ptr<stage_body> inner, c10::Device device,
                                                         std::vector<bool> leaves) {
  return torch_stream::make(device).map([&](torch_stream stream) {
    return std::unique_ptr<device_body>(new device_body(std::move(inner), stream, std::move(leaves)));
  });
}

void device_body::on_start() {
  const c10::StreamGuard here(stream_.get());
  inner_->on_start();
}

expected<void> device_body::run(std::span<const activation> inputs, std::span<activation> outputs) {
  TROUPE_CHECK(outputs.size() == leaves_.size(), "it is known of every output whether it leaves the device");
  const c10::StreamGuard here(stream_.get());
  const c10::InferenceMode inference;
  std::vector<activation> brought(inputs.begin(), inputs.end());
  for (activation& each : brought) {
    each.tensors = moved(each.tensors, [this](const at::Tensor& one) { return stream_.bring(one); });
  }
  if (auto ran = inner_->run(brought, outputs); !ran) {
    auto healthy = stream_.check();
    return healthy ? ran : healthy;
  }
  for (std::size_t port = 0; port < outputs.size(); ++port) {
    if (leaves_[port]) outputs[port].tensors = moved(outputs[port].tensors, &torch_stream::fetch);
  }
  ready_ = stream_.record();
  return {};
}

}  // namespace troupe
