// Goal: stages on a device give the results of the CPU, whatever the graph and wherever they live, also after a worker
// died; the host never waits for the device between micro-batches; a device that is not there is an error before the
// start. Method: real models and data; LibTorch's extension device with the CPU's kernels, whose streams run late. Its
// bits are the CPU's if nothing is read too early. Workers are this program, started again.
#include <bit>
#include <cstdlib>
#include <filesystem>

#include <ATen/ATen.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "support/device_runs.hpp"
#include "testing/late_torch/late_torch.hpp"
#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {

std::vector<std::uint64_t> words_of(const expected<run_result>& result) {
  std::vector<std::uint64_t> words;
  EXPECT_TRUE(result) << to_string(result.error());
  if (!result) return words;
  EXPECT_TRUE(result->errors.empty());
  for (const metric_value& metric : result->metrics) {
    for (const metric_value::field& field : metric.fields) {
      words.insert(words.end(), field.counts.begin(), field.counts.end());
      for (const double real : field.reals) words.push_back(std::bit_cast<std::uint64_t>(real));
    }
  }
  return words;
}

namespace {

using ::testing::HasSubstr;

/// In workers, too.
const bool is_registered = (late::register_late_torch(), true);

eval_options lenet(const std::string& device) {
  eval_options options;
  options.model = (data_dir() / "mnist/lenet.pt").string();
  options.data = "mnist:" + (data_dir() / "mnist").string();
  options.run.threads = 1;
  options.stages = 3;
  options.run.micro_batch = 16;
  options.run.limit = 128;
  options.optimize = optimize_mode::none;
  options.metrics = {"accuracy", "nll", "per_class_accuracy"};
  options.device = device;
  return options;
}

expected<run_result> run(const eval_options& options) {
  auto created = TROUPE_TRY(evaluator::create(options, {}));
  return (created)->run();
}

TEST(devices, give_the_bits_of_the_cpu_in_one_process) {
  const auto bits = words_of(run(lenet("cpu")));
  EXPECT_EQ(words_of(run(lenet("privateuseone:1"))), bits);
  eval_options copies = lenet("privateuseone");
  copies.replicas = 2;
  EXPECT_EQ(words_of(run(copies)), bits) << "on both devices in turn";
}

TEST(devices, give_the_bits_of_the_cpu_with_residual_blocks) {
  eval_options options = lenet("cpu");
  options.model = (data_dir() / "cifar10/resnet20.pt").string();
  options.data = "cifar10:" + (data_dir() / "cifar10/test_batch_1000.bin").string();
  options.metrics = {"accuracy", "cross_entropy"};
  options.run.limit = 32;
  const auto bits = words_of(run(options));
  options.device = "privateuseone:0";
  EXPECT_EQ(words_of(run(options)), bits);
}

TEST(devices, optimize_layers_where_they_compute) {
  for (const optimize_mode mode : {optimize_mode::layer, optimize_mode::stage}) {
    eval_options options = lenet("privateuseone:0");
    options.optimize = mode;
    const auto result = run(options);
    ASSERT_TRUE(result) << to_string(result.error());
    const auto plain = run(lenet("cpu"));
    EXPECT_EQ((*result)["accuracy"].count("correct"), (*plain)["accuracy"].count("correct"));
  }
}

TEST(devices, are_not_waited_for_between_micro_batches) {
  const auto waits_of = [](std::uint64_t limit) {
    eval_options options = lenet("privateuseone:0");
    options.run.limit = limit;
    const auto before = late::counts().synchronizations;
    EXPECT_TRUE(run(options));
    return late::counts().synchronizations - before;
  };
  EXPECT_EQ(waits_of(64), waits_of(160)) << "a host waited once per micro-batch, or nearly so";
}

TEST(devices, with_graphs_give_the_bits_of_the_cpu_and_are_not_waited_for) {
  const auto launches_of = [](std::uint64_t limit, optimize_mode how, std::uint64_t& waits) {
    eval_options options = lenet("privateuseone:0");
    options.cuda_graphs = true;
    options.optimize = how;
    options.run.limit = limit;
    const auto before = late::counts();
    const auto result = run(options);
    options.cuda_graphs = false;
    EXPECT_EQ(words_of(result), words_of(run(options)));
    if (how == optimize_mode::none) {
      options.device = "cpu";
      EXPECT_EQ(words_of(result), words_of(run(options)));
    }
    waits = late::counts().synchronizations - before.synchronizations;
    return late::counts().launches - before.launches;
  };
  for (const optimize_mode how : {optimize_mode::none, optimize_mode::layer}) {
    std::uint64_t of_10 = 0;
    std::uint64_t of_16 = 0;
    const auto launched = launches_of(160, how, of_10);
    EXPECT_EQ(launched, 3 * (10 - limits::graph_warm_ups));
    EXPECT_EQ(launches_of(256, how, of_16), launched + 3 * 6u) << "one of each stage for each micro-batch";
    EXPECT_EQ(of_10, of_16) << "a host waited once per micro-batch, or nearly so";
  }
}

TEST(devices, with_graphs_need_a_device_and_kernels_that_are_given_alike) {
  eval_options options = lenet("cpu");
  options.cuda_graphs = true;
  const auto on_cpu = run(options);
  ASSERT_FALSE(on_cpu);
  EXPECT_EQ(on_cpu.error().code, error_code::flags_contradict);
  EXPECT_EQ(on_cpu.error().where, "stage 'stage 0', cuda_graphs");
  const auto waiting = troupe::run(
      topology{}
          .source("images", "mnist:" + (data_dir() / "mnist").string())
          .stage("waits", [](const at::Tensor& x) { return x.flatten(1).narrow(1, 300, 10) * x.max().item(); },
                 {.device = "privateuseone", .cuda_graphs = true})
          .sink("scores", {"accuracy"}),
      {.micro_batch = 16, .threads = 1, .limit = 160});
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().code, error_code::forward_failed);
  EXPECT_THAT(to_string(waiting.error()), HasSubstr("cannot be recorded as a CUDA graph"));
  EXPECT_THAT(to_string(waiting.error()), HasSubstr("waits"));
}

eval_options lenet_in_workers() {
  eval_options options = lenet("privateuseone");
  options.cuda_graphs = true;
  options.run.workers.enabled = true;
  return options;
}

TEST(devices, give_the_bits_of_the_cpu_in_worker_processes_also_after_a_death) {
  const auto bits = words_of(run(lenet("cpu")));
  eval_options options = lenet_in_workers();
  options.run.faults.add("kill:stage=stage.1,at=mb4");
  const auto disturbed = run(options);
  EXPECT_EQ(words_of(disturbed), bits);
  ASSERT_TRUE(disturbed);
  EXPECT_GT(disturbed->delivery.replayed, 0u);
}

// --- custom topologies -----------------------------------------------------------------------------------------------

data_set_ptr images() {
  return open_data("mnist:" + (data_dir() / "mnist").string()).value();
}

/// Says that its inputs are where they are to be.
at::Tensor twice_on(c10::DeviceType where, const at::Tensor& x) {
  if (x.device().type() != where) throw std::runtime_error("an input on " + x.device().str());
  return x * 2;
}

TEST(devices, mix_with_the_cpu_in_a_graph) {
  const auto graph = [](const std::string& device, c10::DeviceType where) {
    return topology{}
        .source("images", images())
        .stage("before", [](const at::Tensor& x) { return twice_on(c10::DeviceType::CPU, x); })
        .stage("first", [where](const at::Tensor& x) { return twice_on(where, x); }, {.device = device})
        .route("by_sum",
               {{"bright", [](const named_tensors& in) { return in.only().flatten(1).sum(1) > 0; }}, {"dark"}})
        .stage("a", [where](const at::Tensor& x) { return twice_on(where, x).flatten(1); },
               {.replicas = 2, .device = device})
        .stage("b", [](const at::Tensor& x) { return twice_on(c10::DeviceType::CPU, x).flatten(1); })
        .join("both", {"bright", "dark"})
        .stage("last", [where](const at::Tensor& x) { return twice_on(where, x).narrow(1, 300, 10); },
               {.device = device})
        .sink("scores", {"accuracy", "cross_entropy"})
        .edge("images", "before")
        .edge("before", "first")
        .edge("first", "by_sum")
        .edge("by_sum.bright", "a")
        .edge("by_sum.dark", "b")
        .edge("a", "both.bright")
        .edge("b", "both.dark")
        .edge("both", "last")
        .edge("last", "scores");
  };
  const auto evaluate = [](const topology& what) {
    auto created = evaluator::create(what, {.micro_batch = 16, .threads = 1, .limit = 160}, {});
    return created ? (*created)->run() : expected<run_result>(tl::make_unexpected(created.error()));
  };
  const auto bits = words_of(evaluate(graph("cpu", c10::DeviceType::CPU)));
  EXPECT_EQ(words_of(evaluate(graph("privateuseone:1", c10::DeviceType::PrivateUse1))), bits);
}

TEST(devices, feed_a_model_from_a_stage_of_ones_own) {
  const auto evaluate = [](const std::string& device) {
    return troupe::run(topology{}
                           .source("images", images())
                           .stage("halves", [](const at::Tensor& x) { return x / 2; }, {.device = device})
                           .pipeline("lenet", (data_dir() / "mnist/lenet.pt").string(),
                                     {.stages = 2, .optimize = optimize_mode::none, .device = device})
                           .sink("scores", {"accuracy", "nll"}),
                       {.micro_batch = 16, .threads = 1, .limit = 64});
  };
  EXPECT_EQ(words_of(evaluate("privateuseone:0")), words_of(evaluate("cpu")));
}

pipeline_module layers(bool has_weights) {
  pipeline_module made{
      .layers = {layer_spec::function("Flatten", [](const at::Tensor& x) { return x.flatten(1); }),
                 layer_spec::function("ReLU", [](const at::Tensor& x) { return at::relu(x) * 3; }),
                 layer_spec::function("Narrow", [](const at::Tensor& x) { return x.narrow(1, 300, 10) - 1; })},
      .num_stages = 2,
      .loss_fn = [](const at::Tensor& out, const at::Tensor& label) -> std::vector<at::Tensor> {
        return {at::cross_entropy_loss(out, label)};
      }};
  if (has_weights) made.layers.emplace_back("Linear", [] { return torch::nn::Linear(10, 10); });
  return made;
}

expected<std::vector<double>> losses_on(const std::string& device, bool has_weights) {
  pipeline_engine_options options;
  options.num_micro_batches = 5;
  options.run.threads = 1;
  options.device = device;
  auto engine = TROUPE_TRY(pipeline_engine::create(layers(has_weights), options));
  std::vector<batch> batches;
  for (std::uint64_t begin = 0; begin < 80; begin += 16) {
    auto block = images()->read({begin, begin + 16});
    batches.push_back({block->inputs, block->labels});
  }
  auto next = batches.begin();
  return (engine)->eval_batch([&]() -> std::optional<batch> { return *next++; }).map([](const eval_output& given) {
    return given.loss;
  });
}

TEST(devices, take_layers_that_are_built_here) {
  const auto losses = losses_on("privateuseone:0", false);
  ASSERT_TRUE(losses) << to_string(losses.error());
  EXPECT_EQ(*losses, losses_on("cpu", false).value());
  // LibTorch moves the weights of a torch::nn module to a GPU, and to no extension.
  const auto refused = losses_on("privateuseone:0", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::topology_invalid);
  EXPECT_THAT(refused.error().cause, HasSubstr("cannot be moved to"));
}

// --- what fails ------------------------------------------------------------------------------------------------------

constexpr const char* failure_variable = "TROUPE_TEST_FAILURE";

/// The device fails in a worker at the fourth micro-batch, once: the variable names a file that says so.
at::Tensor pass_or_fail(const at::Tensor& x) {
  static int calls = 0;  // of one engine thread
  const char* const told = std::getenv(failure_variable);
  const bool is_due = ++calls == 4 && troupe::program::worker() != nullptr && told != nullptr;
  if (is_due && ::open(told, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0) late::fail_device();
  return x.flatten(1).narrow(1, 300, 10) + 1;
}

expected<run_result> run_failing(const std::string& device, bool in_workers) {
  const topology what = topology{}
                            .source("images", "mnist:" + (data_dir() / "mnist").string())
                            .stage("fails", pass_or_fail, {.device = device})
                            .sink("scores", {"accuracy", "cross_entropy"});
  return troupe::run(what, {.micro_batch = 16, .threads = 1, .limit = 160, .workers = {.enabled = in_workers}});
}

TEST(devices, that_fail_cost_a_process_and_no_bits) {
  const auto bits = words_of(run_failing("cpu", false));
  const auto told = std::filesystem::temp_directory_path() / ("test-failed-" + std::to_string(::getpid()));
  ::setenv(failure_variable, told.c_str(), 1);
  const auto result = run_failing("privateuseone:0", true);
  ::unsetenv(failure_variable);
  EXPECT_TRUE(std::filesystem::remove(told)) << "nothing failed";
  EXPECT_EQ(words_of(result), bits);
  ASSERT_TRUE(result);
  EXPECT_GT(result->delivery.replayed, 0u);
}

// --- missing devices -------------------------------------------------------------------------------------------------

TEST(devices, that_are_not_there_are_errors_before_the_start) {
  const auto beyond = run(lenet("privateuseone:2"));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, error_code::device_unavailable);
  EXPECT_EQ(beyond.error().where, "stage 'stage 0', device privateuseone:2");
  EXPECT_EQ(beyond.error().cause, "the machine has 2, the last is privateuseone:1");
  const auto gpu = run(lenet("cuda:1023"));
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().code, error_code::device_unavailable);
  EXPECT_EQ(run(lenet("gpu")).error().code, error_code::value_out_of_range);
}

TEST(devices, a_journal_goes_on_where_it_began) {
  const auto file = std::filesystem::temp_directory_path() / ("test-devices-" + std::to_string(::getpid()));
  eval_options options = lenet("privateuseone:0");
  options.run.journal.file = file.string();
  const auto bits = words_of(run(options));
  options.run.journal.resume = true;
  EXPECT_EQ(words_of(run(options)), bits);
  options.device = "cpu";
  const auto elsewhere = run(options);
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(to_string(elsewhere.error()), HasSubstr("device"));
  std::filesystem::remove(file);
}

int serve() {
  if (serve_joined()) return 1;
  if (std::getenv(failure_variable) != nullptr) {
    static_cast<void>(run_failing("privateuseone:0", true));
  } else {
    static_cast<void>(run(lenet_in_workers()));
  }
  return 1;
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) return troupe::testing::serve();
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
