// Goal: code that may not be optimized, or is not repeatable, is the same for the whole of a run: in one process, in
// workers, in the spare that replaces a killed one, in a run that goes on with its journal. Method: the built program
// on a block that LibTorch's freeze folds wrongly, and on one with dropout; metrics against a run that optimizes
// nothing, and against a plain loop.
#include <csignal>
#include <filesystem>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/jit/api/module.h>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/data_set.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using json = nlohmann::json;

std::string mnist() {
  return "mnist:" + std::filesystem::absolute(data_dir() / "mnist").string();
}

torch::jit::Module child(const std::string& type, const std::string& statements) {
  torch::jit::Module made(type);
  made.register_parameter("weight", at::randn({10, 784}) / 8, false);
  made.register_buffer("scale", at::rand({10}) + 0.5);
  made.register_buffer("mean", at::rand({10}) * 2 - 1);
  made.register_buffer("var", at::rand({10}) * 1.5 + 0.5);
  made.define("def forward(self, x):\n" + statements);
  return made;
}

/// Flatten, a skip connection around a normalisation, and a layer of the given statements.
torch::jit::Module model_with(const std::string& last) {
  at::manual_seed(6);
  torch::jit::Module net("Net");
  net.register_module("flat", child("Flat", "  return torch.flatten(x, 1)\n"));
  net.register_module("skip", child("Skip",
                                    "  y = torch.linear(x, self.weight)\n"
                                    "  return torch.batch_norm(y, self.scale, None, self.mean, self.var, False, 0.1, "
                                    "1e-5, False) + y\n"));
  net.register_module("last", child("Last", last));
  net.define("def forward(self, x):\n  return self.last.forward(self.skip.forward(self.flat.forward(x)))\n");
  net.eval();
  return net;
}

class choice : public ::testing::Test {
 protected:
  program_outcome eval(const std::vector<std::string>& more) {
    program_call call{.arguments = {"eval", "--model", "model.pt", "--data", mnist(), "--limit", "320", "--micro-batch",
                                    "16", "--threads", "1", "--json"}};
    call.arguments.insert(call.arguments.end(), more.begin(), more.end());
    call.directory = directory.path().string();
    return run_troupe(call);
  }
  json result_of(const std::vector<std::string>& more) {
    const auto outcome = eval(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    log = outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
  void save(const torch::jit::Module& model) { model.save((directory.path() / "model.pt").string()); }

  const scratch directory;
  std::string log;
};

TEST_F(choice, is_the_same_in_all_processes_of_a_run) {
  torch::jit::Module model = model_with("  return torch.relu(x)\n");
  save(model);
  const auto block = (*open_data(mnist()))->read({0, 320});
  const at::Tensor outputs = model.forward({block->inputs.only()}).toTensor();
  const auto correct = outputs.argmax(1).eq(block->labels.only()).sum().item<std::int64_t>();
  const json plain = result_of({"--optimize", "none"});
  EXPECT_EQ(plain["metrics"]["accuracy"]["correct"], correct);
  EXPECT_FALSE(plain.contains("plain_pipelines"));
  const std::vector<std::vector<std::string>> ways = {
      {},
      {"--stages", "2", "--partition", "0,1,3"},
      {"--stages", "3", "--processes"},
      {"--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb3"},
      {"--stages", "2", "--partition", "0,2,3", "--optimize", "none", "--processes"},
  };
  for (const auto& way : fewer_if_sanitized<std::vector<std::string>>(ways, {3})) {
    const json result = result_of(way);
    EXPECT_EQ(result["metrics"]["accuracy"]["correct"], correct) << result["plain_pipelines"];
    EXPECT_NEAR(result["metrics"]["cross_entropy"]["mean"].get<double>(),
                plain["metrics"]["cross_entropy"]["mean"].get<double>(), 1e-5);
    EXPECT_FALSE(result.contains("plain_pipelines"));
    EXPECT_EQ(log.find("runs as it stands"), std::string::npos) << log;
  }
}

TEST_F(choice, has_the_same_bits_where_a_run_goes_on_in_processes) {
  save(model_with("  return torch.relu(x)\n"));
  const json first = result_of({"--journal", "run.journal"});
  const json again = result_of({"--journal", "run.journal", "--resume", "--stages", "2", "--processes"});
  EXPECT_EQ(again["metrics"], first["metrics"]);
}

TEST_F(choice, of_a_model_with_dropout_is_the_users) {
  save(model_with("  return torch.dropout(x, 0.5, True)\n"));
  for (const std::vector<std::string>& way : {std::vector<std::string>{}, {"--processes"}}) {
    const auto refused = eval(way);
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("error E0216: model.pt, layer 2 (last Last)"), HasSubstr("aten::dropout"),
                                   HasSubstr("model.eval()")));
    auto allowed = way;
    allowed.emplace_back("--allow-random");
    const json result = result_of(allowed);
    ASSERT_EQ(result["warnings"].size(), 1U);
    EXPECT_THAT(result["warnings"][0].get<std::string>(), HasSubstr("aten::dropout"));
    EXPECT_THAT(log, HasSubstr("aten::dropout"));
  }
  program_call call{.arguments = {"chaos", "--model", "model.pt", "--data", mnist(), "--limit", "160", "--threads", "1",
                                  "--processes", "--allow-random", "--fault", "kill:stage=stage.0,at=mb1"}};
  call.directory = directory.path().string();
  const auto told = run_troupe(call);
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, AllOf(HasSubstr("same bits  no"), HasSubstr("because    model.pt, layer 2 (last Last)")));
}

}  // namespace
}  // namespace troupe::testing
