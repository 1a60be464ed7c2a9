#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include "runtime/tensor/torch_stream.hpp"

namespace troupe {

/// What becomes of the tensors of an output.
enum class output_way : std::uint8_t {
  stays,     ///< on the device, for stages of this process
  laid_out,  ///< on the device, each in memory that is its values in a dense row, for an edge between devices
  lent,  ///< the same, for an edge whose other end reads them where they are: large ones get room (output_reserve.hpp)
  leaves,  ///< fetched to the host
};

/// Another body on a device: its inputs are brought there, its kernels go to a stream of its own, and what leaves for
/// the host is fetched. run() gives work to the device and does not wait for it (outputs_ready()).
///
/// The other body has its weights on the device; its outputs are there, too.
class device_body final : public stage_body {
 public:
  /// `ways`: for each output. E0902 where the device gives no stream.
  [[nodiscard]] static expected<std::unique_ptr<device_body>> make(std::shared_ptr<stage_body> inner,
                                                                   c10::Device device, std::vector<output_way> ways);

  void on_start() override;
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;
  [[nodiscard]] std::shared_ptr<context_event> outputs_ready() override { return ready_; }

 private:
  [[nodiscard]] bool lends_outputs() const;
  [[nodiscard]] payload_ptr send_off(payload_ptr made, output_way way) const;
  device_body(std::shared_ptr<stage_body> inner, torch_stream stream, std::vector<output_way> ways)
      : inner_(std::move(inner)), stream_(stream), ways_(std::move(ways)) {}

  const std::shared_ptr<stage_body> inner_;
  const torch_stream stream_;
  const std::vector<output_way> ways_;
  std::shared_ptr<context_event> ready_;
  bool has_run_ = false;
};

}  // namespace troupe
