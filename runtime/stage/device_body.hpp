#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/stage_body.hpp"
#include "runtime/tensor/torch_stream.hpp"

namespace troupe {

/// Another body on a device: its inputs are brought there, its kernels go to a stream of its own, and what leaves for
/// the host is fetched. run() gives work to the device and does not wait for it (outputs_ready()).
///
/// The other body has its weights on the device; its outputs are there, too.
class device_body final : public stage_body {
 public:
  /// `leaves`: for each output, whether it is fetched. E0902 where the device gives no stream.
  [[nodiscard]] static expected<std::unique_ptr<device_body>> make(std::shared_ptr<stage_body> inner,
                                                                   c10::Device device, std::vector<bool> leaves);

  void on_start() override;
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;
  [[nodiscard]] std::shared_ptr<context_event> outputs_ready() override { return ready_; }

 private:
  device_body(std::shared_ptr<stage_body> inner, torch_stream stream, std::vector<bool> leaves)
      : inner_(std::move(inner)), stream_(stream), leaves_(std::move(leaves)) {}

  const std::shared_ptr<stage_body> inner_;
  const torch_stream stream_;
  const std::vector<bool> leaves_;
  std::shared_ptr<context_event> ready_;
};

}  // namespace troupe
