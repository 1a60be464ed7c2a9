// Goal: tensors between stages on devices in two processes go over an edge between the devices, with the bits of the
// CPU, without a host that waits, also after a death; and only where all that take an output can have them so. Method:
// as devices_test.cpp; between workers is the memory of the stand-in for a device, or the stand-in for NCCL. A stage
// says how its inputs came.
#include <atomic>
#include <cstdlib>

#include <gmock/gmock.h>

#include "program/launch/process_context.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/device/device_sharing.hpp"
#include "runtime/device/extension_device.hpp"
#include "support/device_runs.hpp"
#include "testing/late_torch/late_graphs.hpp"
#include "testing/late_torch/late_torch.hpp"
#include "testing/nccl/late_device.hpp"
#include "testing/nccl/stand_in.hpp"
#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Memory of other processes' devices that edges of this one opened.
std::atomic<int> opened_blocks{0};

class counted_sharing final : public device_sharing {
 public:
  explicit counted_sharing(std::shared_ptr<device_sharing> all) : all_(std::move(all)) {}
  expected<shared_block> allocate(std::size_t bytes) override { return all_->allocate(bytes); }
  expected<device_allocation> allocation_of(const std::byte* at) override { return all_->allocation_of(at); }
  expected<sharing_handle> share(const std::byte* base) override { return all_->share(base); }
  expected<std::unique_ptr<shared_event>> make_event() override { return all_->make_event(); }
  expected<shared_block> open_memory(const sharing_handle& handle) override {
    ++opened_blocks;
    return all_->open_memory(handle);
  }
  expected<std::shared_ptr<context_event>> open_event(const sharing_handle& handle) override {
    return all_->open_event(handle);
  }

 private:
  const std::shared_ptr<device_sharing> all_;
};

class counted_device final : public device_context {
 public:
  expected<void> enter_thread() override { return all_.enter_thread(); }
  expected<std::shared_ptr<std::byte>> allocate(std::size_t bytes) override { return all_.allocate(bytes); }
  expected<std::shared_ptr<std::byte>> allocate_host(std::size_t bytes) override { return all_.allocate_host(bytes); }
  expected<std::unique_ptr<context_stream>> make_stream() override { return all_.make_stream(); }
  expected<std::shared_ptr<device_sharing>> sharing() override {
    return all_.sharing().map([](std::shared_ptr<device_sharing>&& all) -> std::shared_ptr<device_sharing> {
      return std::make_shared<counted_sharing>(std::move(all));
    });
  }

 private:
  late_device all_;
};

/// In workers, too.
bool make_joinable() {
  set_extension_device({.context = [](int) { return std::make_shared<counted_device>(); },
                        .collectives = stand_in_functions(),
                        .graphs = [](int) { return late::make_kernel_recorder(); }});
  return true;
}
const bool is_joinable = make_joinable();

constexpr const char* transport_variable = "TROUPE_TEST_TRANSPORT";

/// How tensors came into this worker's process is what the variable says, and no host waits for the device meanwhile.
at::Tensor arrived(const at::Tensor& x) {
  if (troupe::program::worker() == nullptr) return x + 1;  // the try-out
  static int calls = 0;                                    // of one engine thread
  static std::uint64_t waits = 0;
  if (++calls == 3) waits = late::counts().synchronizations;
  if (calls > 3 && late::counts().synchronizations != waits) throw std::runtime_error("a host waited for its device");
  const std::string kind = std::getenv(transport_variable);
  const bool is_shared = opened_blocks > 0;
  const bool is_nccl = faults_of_stand_in().joined > 0;
  if (is_shared != (kind == "auto") || is_nccl != (kind == "nccl")) throw std::runtime_error("not over " + kind);
  return x + 1;
}

topology joined_devices(const std::string& device) {
  return topology{}
      .source("images", "mnist:" + (data_dir() / "mnist").string())
      .stage("first", [](const at::Tensor& x) { return x * 2; }, {.device = device})
      .stage("second", [](const at::Tensor& x) { return arrived(x).flatten(1).narrow(1, 200, 400); },
             {.replicas = 2, .device = device})
      .stage("last", [](const at::Tensor& x) { return arrived(x).narrow(1, 100, 10); }, {.device = device})
      .sink("scores", {"accuracy", "cross_entropy"});
}

expected<run_result> run_joined(const std::string& transport, std::vector<std::string> faults) {
  run_options options{.micro_batch = 16, .threads = 1, .limit = 320, .workers = {.enabled = true}};
  options.workers.transport = transport == "nccl"  ? transport_kind::nccl
                              : transport == "shm" ? transport_kind::shm
                                                   : transport_kind::automatic;
  for (const std::string& each : faults) options.faults.add(each);
  ::setenv(transport_variable, transport.c_str(), 1);
  const auto result = troupe::run(joined_devices("privateuseone"), options);
  ::unsetenv(transport_variable);
  return result;
}

TEST(devices, of_two_processes_are_joined_without_the_host) {
  const auto plain = troupe::run(joined_devices("cpu"), {.micro_batch = 16, .threads = 1, .limit = 320});
  const auto bits = words_of(plain);
  for (const char* transport : {"auto", "nccl", "shm"}) {
    SCOPED_TRACE(transport);
    EXPECT_EQ(words_of(run_joined(transport, {})), bits);
  }
}

TEST(devices, are_joined_again_after_a_death) {
  const auto bits = words_of(troupe::run(joined_devices("cpu"), {.micro_batch = 16, .threads = 1, .limit = 320}));
  for (const char* transport : {"auto", "nccl"}) {
    for (const char* fault : {"kill:stage=first,at=mb5", "kill:stage=last,at=mb5"}) {
      SCOPED_TRACE(std::string(transport) + ", " + fault);
      const auto result = run_joined(transport, {fault});
      EXPECT_EQ(words_of(result), bits);
      ASSERT_TRUE(result);
      EXPECT_GT(result->delivery.replayed, 0u);
    }
  }
}

/// Which of its channels, as "first to second".
std::vector<std::string> joined(const topology& what, device_layout layout) {
  const process_context process;
  checked_run run = checked_run::make(what, {}, process).value();
  run.layout = layout;
  const wiring_plan& plan = run.plan;
  const auto channels = device_channels(run);
  EXPECT_TRUE(channels);
  std::vector<std::string> names;
  for (std::size_t number = 0; number < plan.channels.size(); ++number) {
    if (!(*channels)[number]) continue;
    const auto name = [&](std::size_t instance) { return plan.nodes[plan.instances[instance].address.stage].name; };
    names.push_back(name(plan.channels[number].producer) + " to " + name(plan.channels[number].consumer));
  }
  return names;
}

TEST(devices, are_joined_where_all_that_take_an_output_are_on_devices) {
  const device_layout apart{.are_apart = true, .reach = device_reach::host};
  EXPECT_THAT(joined(joined_devices("privateuseone"), apart),
              ElementsAre("first to second", "first to second", "second to last", "second to last"));
  EXPECT_THAT(joined(joined_devices("privateuseone"), {.are_apart = false, .reach = device_reach::host}), IsEmpty());
  EXPECT_THAT(joined(joined_devices("privateuseone"), {.are_apart = true}), IsEmpty());
  EXPECT_THAT(joined(joined_devices("cpu"), apart), IsEmpty());
  topology also_host = joined_devices("privateuseone");
  also_host.stage("host", [](const at::Tensor& x) { return x.flatten(1).narrow(1, 0, 10); })
      .sink("others", {"accuracy"})
      .edge("images", "first")
      .edge("first", "second")
      .edge("first", "host")
      .edge("second", "last")
      .edge("last", "scores")
      .edge("host", "others");
  EXPECT_THAT(joined(also_host, apart), ElementsAre("second to last", "second to last"));
}

}  // namespace

bool serve_joined() {
  const char* const transport = std::getenv(transport_variable);
  if (transport != nullptr) static_cast<void>(run_joined(transport, {}));
  return transport != nullptr;
}

}  // namespace troupe::testing
