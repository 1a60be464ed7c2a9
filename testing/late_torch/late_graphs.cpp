#include "testing/late_torch/late_graphs.hpp"

#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "testing/late_torch/late_guard.hpp"
#include "testing/late_torch/late_streams.hpp"

namespace troupe::late {
namespace {

std::atomic<std::uint64_t> launched{0};

class graph final : public recorded_graph {
 public:
  explicit graph(std::vector<late_streams::work> recorded) : recorded_(std::move(recorded)) {}

  [[nodiscard]] expected<void> launch() override {
    ++launched;
    for (const late_streams::work& each : recorded_) streams().give(current_stream().id(), each);
    return {};
  }

 private:
  const std::vector<late_streams::work> recorded_;
};

class recorder final : public kernel_recorder {
 public:
  [[nodiscard]] expected<std::unique_ptr<recorded_graph>> record(const std::function<void()>& work) override {
    const std::int64_t stream = current_stream().id();
    streams().begin_recording(stream);
    try {
      work();
    } catch (const std::exception& caught) {
      static_cast<void>(streams().end_recording(stream));
      return fail(error_code::device_failed, "late device", caught.what());
    }
    auto recorded = streams().end_recording(stream);
    if (recorded) return std::make_unique<graph>(std::move(*recorded));
    return fail(error_code::device_failed, "late device", "the recording was broken off");
  }
};

}  // namespace

std::shared_ptr<kernel_recorder> make_kernel_recorder() {
  return std::make_shared<recorder>();
}

std::uint64_t launches() {
  return launched;
}

}  // namespace troupe::late
