// Goal: weights, moments and losses of a training engine have the bits of a plain loop over LibTorch that updates its
// weights with the same kernels: for every number of stages, replicas and micro-batches, in threads and in worker
// processes. Method: plain_training knows no stages and adds gradients by its own code. Workers are this program,
// started again. With TROUPE_ALL_CASES=1 all 540 cases run, which takes minutes.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include "tests/support/case_choice.hpp"
#include "tests/support/plain_training.hpp"
#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t seed = 11;
constexpr std::uint64_t steps = 3;
/// The case of the engine to which the workers of a test belong.
constexpr const char* case_variable = "TROUPE_TEST_CASE";

struct training_case {
  std::uint32_t stages = 1;
  std::uint64_t micro_batches = 1;
  std::uint32_t replicas = 1;
  std::size_t optimizer = 0;
  /// automatic: in threads.
  transport_kind transport = transport_kind::automatic;
};

std::string text_of(const training_case& each) {
  return std::to_string(each.stages) + " " + std::to_string(each.micro_batches) + " " + std::to_string(each.replicas) +
         " " + std::to_string(each.optimizer) + " " + std::to_string(static_cast<int>(each.transport));
}

training_case case_of(const std::string& text) {
  training_case made;
  int transport = 0;
  std::istringstream(text) >> made.stages >> made.micro_batches >> made.replicas >> made.optimizer >> transport;
  made.transport = static_cast<transport_kind>(transport);
  return made;
}

struct optimizer_case {
  optimizer_options options;
  std::optional<double> clip_norm = std::nullopt;
};

const std::vector<optimizer_case> optimizers = {
    {{.weight_decay = 0.01, .momentum = 0.9}},
    {{.kind = optimizer_kind::adam, .amsgrad = true}, 0.2},
    {{.kind = optimizer_kind::adamw, .weight_decay = 0.05}},
    {{.momentum = 0.8, .nesterov = true}, 0.3},
};

double rate_of(std::uint64_t step) {
  return 0.02 / (1 + static_cast<double>(step));
}

const std::vector<layer_spec>& layers() {
  static const std::vector<layer_spec> all = {
      layer_spec("Conv2d", [] { return torch::nn::Conv2d(2, 4, 3); }),
      layer_spec("BatchNorm2d", [] { return torch::nn::BatchNorm2d(4); }),
      layer_spec("Tanh", [] { return torch::nn::Tanh(); }),
      layer_spec("Flatten", [] { return torch::nn::Flatten(); }),
      layer_spec("Linear", [] { return torch::nn::Linear(64, 24); }),
      layer_spec("ReLU", [] { return torch::nn::ReLU(); }),
      layer_spec("Linear", [] { return torch::nn::Linear(24, 5); }),
  };
  return all;
}

/// The same layers, each drawn with the seed of its place.
torch::nn::Sequential network() {
  torch::nn::Sequential made;
  auto next = [&, place = seed](const auto& build) mutable {
    torch::manual_seed(place++);
    made->push_back(build());
  };
  next([] { return torch::nn::Conv2d(2, 4, 3); });
  next([] { return torch::nn::BatchNorm2d(4); });
  next([] { return torch::nn::Tanh(); });
  next([] { return torch::nn::Flatten(); });
  next([] { return torch::nn::Linear(64, 24); });
  next([] { return torch::nn::ReLU(); });
  next([] { return torch::nn::Linear(24, 5); });
  return made;
}

/// Sizes differ.
plain_sample_batch samples(std::uint64_t index) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + index);
  const std::int64_t rows = 2 + static_cast<std::int64_t>(index % 4);
  return {at::randn({rows, 2, 6, 6}, generator), at::randint(5, {rows}, generator, at::kLong)};
}

expected<std::unique_ptr<training_engine>> make_engine(const training_case& each) {
  training_engine_options options;
  options.training.num_micro_batches = each.micro_batches;
  options.training.optimizer = optimizers[each.optimizer].options;
  options.training.learning_rate = rate_of;
  options.training.clip_norm = optimizers[each.optimizer].clip_norm;
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.training.seed = seed;
  options.pipeline.replicas = each.replicas;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = each.transport != transport_kind::automatic;
  options.pipeline.run.workers.transport = each.transport;
  return training_engine::create({.layers = layers(), .num_stages = each.stages, .partition_method = "uniform"},
                                 options);
}

/// By name, as checkpoints have them.
state_dict moments_of(training_engine& engine) {
  const fs::path dir = fs::temp_directory_path() / ("test-trained-loop-" + std::to_string(::getpid()));
  get(engine.save_checkpoint(dir, "end"));
  state_dict made = get(load_weights(dir / "end" / "optimizer.safetensors"));
  fs::remove_all(dir);
  return made;
}

at::Tensor tensor_of(const state_dict& all, const std::string& name) {
  for (const named_tensor& each : all) {
    if (each.name == name) return each.tensor;
  }
  ADD_FAILURE() << name << " is missing";
  return {};
}

void expect_bits_of_plain_loop(const training_case& each) {
  SCOPED_TRACE(text_of(each));
  ::setenv(case_variable, text_of(each).c_str(), 1);
  at::set_num_threads(1);
  auto engine = make_engine(each);
  ASSERT_TRUE(engine) << to_string(engine.error());
  (*engine)->set_dataiterator([next = std::uint64_t{0}]() mutable -> std::optional<batch> {
    const plain_sample_batch one = samples(next++);
    return batch{one.inputs, one.labels};
  });
  const optimizer_case& optimizer = optimizers[each.optimizer];
  plain_kernels loop(network(), optimizer.options);
  std::uint64_t next = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::vector<plain_sample_batch> batches;
    while (batches.size() < each.micro_batches) batches.push_back(samples(next++));
    const double expected_loss = loop.step(batches, rate_of(step), optimizer.clip_norm.value_or(0));
    const auto made = (*engine)->train_batch();
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_EQ(made->loss, expected_loss) << "step " << step;
  }
  const state_dict weights = get((*engine)->module_state_dict());
  const state_dict moments = moments_of(**engine);
  std::size_t index = 0;
  for (const auto& parameter : loop.model()->named_parameters()) {
    EXPECT_TRUE(at::equal(tensor_of(weights, parameter.key()), parameter.value())) << parameter.key();
    for (const std::string_view moment : moment_names(optimizer.options)) {
      const std::string name(moment);
      EXPECT_TRUE(at::equal(tensor_of(moments, parameter.key() + "." + name), loop.moments(name)[index]))
          << name << " of " << parameter.key();
    }
    ++index;
  }
}

std::vector<training_case> cases_of(std::uint64_t micro_batches_max, std::uint64_t apart,
                                    const std::vector<transport_kind>& transports) {
  std::vector<training_case> made;
  for (const transport_kind transport : transports) {
    for (const std::uint32_t replicas : {1, 2, 4}) {
      for (std::uint32_t stages = 1; stages <= 5; ++stages) {
        for (std::uint64_t count = 1; count <= micro_batches_max; count += apart) {
          made.push_back({stages, count, replicas, made.size() % optimizers.size(), transport});
        }
      }
    }
  }
  return made;
}

TEST(trained_loop, is_that_of_threads) {
  for (const training_case& each : some_of(cases_of(32, 1, {transport_kind::automatic}), 24)) {
    ASSERT_NO_FATAL_FAILURE(expect_bits_of_plain_loop(each));
  }
}

TEST(trained_loop, is_that_of_workers) {
  for (const training_case& each : some_of(cases_of(32, 16, {transport_kind::shm, transport_kind::tcp}), 4)) {
    ASSERT_NO_FATAL_FAILURE(expect_bits_of_plain_loop(each));
  }
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    const char* const announced = std::getenv(case_variable);
    static_cast<void>(make_engine(case_of(announced == nullptr ? "" : announced)));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
