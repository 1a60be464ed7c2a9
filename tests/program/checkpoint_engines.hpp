#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include "tests/program/support/plain_loop.hpp"
#include "tests/support/paths.hpp"
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

// Engines of one model, in a file and in code, and what tests of their checkpoints compare.
namespace troupe::testing {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* engine_variable = "TROUPE_TEST_ENGINE";
constexpr const char* dead_variable = "TROUPE_TEST_DEAD";

inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

inline fs::path recorded(const std::string& name) {
  return source_dir() / "tests/program/recorded_checkpoint" / name;
}

class checkpoints : public ::testing::Test {
 protected:
  checkpoints() {
    std::string scratch = (fs::temp_directory_path() / "test-checkpoints-XXXXXX").string();
    dir_ = ::mkdtemp(scratch.data());
  }
  ~checkpoints() override { fs::remove_all(dir_); }
  checkpoints(const checkpoints&) = delete;
  checkpoints& operator=(const checkpoints&) = delete;

  /// A copy of the recorded one, to be changed.
  [[nodiscard]] fs::path copy() const {
    fs::copy(recorded("checkpoint"), dir_ / "copy", fs::copy_options::recursive);
    return dir_ / "copy";
  }

  fs::path dir_;
};

/// In a worker, at the third micro-batch, once.
inline void die_once() {
  static int calls = 0;
  if (program::worker() == nullptr || environment(dead_variable).empty() || ++calls != 3) return;
  if (::open(environment(dead_variable).c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0) ::raise(SIGKILL);
}

inline std::vector<at::Tensor> mean_of(const at::Tensor& outputs, const at::Tensor&) {
  die_once();
  return {outputs.mean()};
}

inline torch::nn::Linear linear(std::int64_t in, std::int64_t out) {
  torch::manual_seed(static_cast<std::uint64_t>(in));
  return torch::nn::Linear(in, out);
}

inline pipeline_module code(std::uint32_t stages) {
  return {.layers = {layer_spec::function("Flatten", [](const at::Tensor& x) { return x.flatten(1); }),
                     layer_spec("Linear", [] { return linear(36, 36); }),
                     tied_layer_spec("tied", "Linear", [] { return linear(36, 36); }),
                     tied_layer_spec("tied", "Linear", [] { return linear(36, 36); }),
                     layer_spec("Linear", [] { return linear(36, 5); })},
          .num_stages = stages,
          .loss_fn = mean_of};
}

using engine_ptr = std::unique_ptr<pipeline_engine>;

struct engine_choice {
  std::string model = "file";  ///< or "code"
  int stages = 1;
  bool has_workers = false;
  int replicas = 1;
  bool is_bfloat16 = false;
};

inline expected<engine_ptr> make_engine(const engine_choice& choice) {
  pipeline_engine_options options{.run = {.threads = 1}, .optimize = optimize_mode::none};
  options.run.workers.enabled = choice.has_workers;
  options.replicas = choice.replicas;
  if (choice.is_bfloat16) options.dtype = at::kBFloat16;
  if (choice.model == "code") return pipeline_engine::create(code(static_cast<std::uint32_t>(choice.stages)), options);
  options.stages = choice.stages;
  return pipeline_engine::create(recorded("first.pt").string(), options, mean_of);
}

/// Workers read their engine_choice there.
inline engine_choice choice_of_environment() {
  engine_choice made{.has_workers = true};
  std::istringstream(environment(engine_variable)) >> made.model >> made.stages >> made.replicas >> made.is_bfloat16;
  return made;
}

inline engine_ptr start_engine(const engine_choice& choice) {
  std::ostringstream text;
  text << choice.model << ' ' << choice.stages << ' ' << choice.replicas << ' ' << choice.is_bfloat16;
  if (choice.has_workers) ::setenv(engine_variable, text.str().c_str(), 1);
  return get(make_engine(choice));
}
inline engine_ptr start_engine(const std::string& model, int stages, bool has_workers = false) {
  return start_engine({.model = model, .stages = stages, .has_workers = has_workers});
}

inline std::vector<batch> some_batches() {
  std::vector<batch> made;
  for (int index = 0; index < 8; ++index)
    made.push_back({at::arange(3 * 36).add(index).sin().reshape({3, 1, 6, 6}), at::zeros({3}, at::kLong)});
  return made;
}

inline std::vector<at::Tensor> outputs_of(pipeline_engine& engine) {
  const auto output = engine.eval_batch(batch_list{some_batches()}, {.return_logits = true, .num_micro_batches = 8});
  EXPECT_TRUE(output) << (output ? "" : to_string(output.error()));
  return output ? output->logits : std::vector<at::Tensor>{};
}

inline std::vector<at::Tensor> plain_outputs(const char* model, at::ScalarType type = at::kFloat) {
  at::set_num_threads(1);
  plain_loop loop(recorded(model));
  loop.model.to(type);
  std::vector<at::Tensor> made;
  for (const batch& each : some_batches()) made.push_back(loop.forward(each.inputs.only().to(type)).clone());
  return made;
}

inline void expect_bits(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], wanted[i])) << "micro-batch " << i;
}

inline void expect_equal(const state_dict& found, const state_dict& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, wanted[i].name);
    EXPECT_TRUE(at::equal(found[i].tensor, wanted[i].tensor)) << wanted[i].name;
    EXPECT_EQ(found[i].tensor.dtype(), wanted[i].tensor.dtype()) << wanted[i].name;
  }
}

template <class Value>
error error_of(const expected<Value>& made) {
  EXPECT_FALSE(made);
  return made ? error{} : made.error();
}

template <class Value>
Value value_in(const client_state& state, const std::string& name) {
  return std::get<Value>(state.at(name).value);
}

}  // namespace troupe::testing
