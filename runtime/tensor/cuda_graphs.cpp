#include "runtime/tensor/cuda_graphs.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/cuda/function_finder.hpp"
#include "runtime/tensor/torch_cuda.hpp"

namespace troupe {
namespace {

tl::unexpected<error> failed(const std::exception& caught) {
  return fail(error_code::device_failed, "CUDA graph", exception_text(caught));
}

class cuda_graph final : public recorded_graph {
 public:
  explicit cuda_graph(const cuda_graph_functions& functions) : call_(functions) { call_.construct(&object_, false); }
  ~cuda_graph() override { call_.destroy(&object_); }

  [[nodiscard]] expected<void> launch() override try {
    call_.replay(&object_);
    return {};
  } catch (const std::exception& caught) {
    return failed(caught);
  }

  /// Throws what LibTorch and `work` throw.
  void record(c10::MempoolId_t pool, const std::function<void()>& work) {
    call_.capture_begin(&object_, pool, cuda_graph_functions::capture_of_this_thread);
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    try {
      call_.capture_end(&object_);
    } catch (...) {
      // The stream is no longer captured. What `work` met says more than that the capture is broken.
      if (thrown == nullptr) throw;
    }
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

 private:
  const cuda_graph_functions call_;
  alignas(std::max_align_t) std::array<std::byte, cuda_graph_functions::object_bytes> object_{};
};

class cuda_recorder final : public kernel_recorder {
 public:
  cuda_recorder(const cuda_graph_functions& functions, c10::MempoolId_t pool) : call_(functions), pool_(pool) {}

  [[nodiscard]] expected<std::unique_ptr<recorded_graph>> record(const std::function<void()>& work) override try {
    // LibTorch's allocator keeps captures apart by their streams; one at a time asks it less.
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    auto made = std::make_unique<cuda_graph>(call_);
    made->record(pool_, work);
    return made;
  } catch (const std::exception& caught) {
    return failed(caught);
  }

 private:
  const cuda_graph_functions call_;
  const c10::MempoolId_t pool_;
};

}  // namespace

expected<cuda_graph_functions> cuda_graph_functions::of(const std::string& library) {
  const auto opened = TROUPE_TRY(shared_library::open(library));
  cuda_graph_functions made;
  function_finder find(opened);
  find("_ZN2at4cuda17graph_pool_handleEv", made.make_pool);
  find("_ZN2at4cuda9CUDAGraphC1Eb", made.construct)("_ZN2at4cuda9CUDAGraphD1Ev", made.destroy);
  find("_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode", made.capture_begin);
  find("_ZN2at4cuda9CUDAGraph11capture_endEv", made.capture_end);
  find("_ZN2at4cuda9CUDAGraph6replayEv", made.replay);
  if (!find.found()) return tl::make_unexpected(find.found().error());
  return made;
}

expected<std::shared_ptr<kernel_recorder>> cuda_graph_recorder() {
  TROUPE_TRY(load_torch_cuda());
  return cuda_graph_functions::of(torch_cuda_path()).map([](const cuda_graph_functions& functions) {
    return std::make_shared<cuda_recorder>(functions, functions.make_pool());
  });
}

}  // namespace troupe
