// Goal: a model file that was made to do harm is refused with status 3 and a message that names the fault, and never
// ends the program by a signal; its code does nothing outside, unless it is allowed to. Method: archives written by
// hand, byte by byte, given to the built program, in a directory of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/model_archive.hpp"
#include "tests/support/packed_item.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using json = nlohmann::json;

std::string mnist() {
  return "mnist:" + std::filesystem::absolute(data_dir() / "mnist").string();
}

program_outcome run_in(const scratch& directory, std::vector<std::string> arguments) {
  program_call call{.arguments = std::move(arguments)};
  call.directory = directory.path().string();
  return run_troupe(call);
}

std::vector<std::string> eval(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"eval",    "--model", "model.pt",      "--data", mnist(),
                                  "--limit", "32",      "--micro-batch", "16"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

zip_item zeros(const std::string& name, std::size_t bytes) {
  return packed_item(name, std::string(bytes, '\0'));
}

struct hostile_file {
  std::string name;
  std::function<std::string()> content;
  std::string code;
  std::string piece;
};

std::string with_forward(const std::string& statements) {
  return model_archive(net_code(net_forward(statements)));
}

std::string with_item(zip_item more) {
  auto items = model_items(net_code(net_forward("")));
  items.push_back(std::move(more));
  return zip_file(items);
}

std::string flipped_weight() {
  std::string file = file_content(data_dir() / "cifar10/resnet20.pt");
  file[file.size() / 2] ^= 1;
  return file;
}

/// Two lines of the directory for one place in the file.
std::string overlapping() {
  std::string file = with_item(stored("m/data/0", "weights"));
  const std::size_t last = file.rfind("PK\1\2");
  file.replace(last + 42, 4, little_endian(0, 4));
  return file;
}

const std::vector<hostile_file> hostile_files = {
    {"nested_tuples", [] { return model_archive(net_code(net_forward("")), nested_tuples(100'000)); }, "E0214",
     "data.pkl"},
    {"nested_calls", [] { return with_forward(nested_calls(20'000)); }, "E0214", "code/__torch__.py"},
    {"nested_parentheses", [] { return with_forward(nested_parentheses(100'000)); }, "E0214", "code/__torch__.py"},
    {"long_sum", [] { return with_forward(long_sum(30'000)); }, "E0214", "code/__torch__.py"},
    {"bomb", [] { return with_item(zeros("m/data/0", 300u << 20)); }, "E0214", "unpack to more than"},
    {"flipped_weight", flipped_weight, "E0213", "checksum"},
    {"truncated", [] { return flipped_weight().substr(0, 100'000); }, "E0203", "truncated"},
    {"overlapping", overlapping, "E0213", "on top of another"},
    {"huge_memo_place",
     [] {
       return model_archive(net_code(net_forward("")),
                            std::string("\x80\x02") + ")r" + little_endian(0xfffffff0U, 4) + ".");
     },
     "E0210", "data.pkl"},
};

class hostile : public ::testing::TestWithParam<hostile_file> {};

TEST_P(hostile, file_is_refused_and_ends_nothing) {
  const scratch directory;
  directory.write("model.pt", GetParam().content());
  const auto outcome = run_in(directory, eval({}));
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("error " + GetParam().code));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().piece));
}

INSTANTIATE_TEST_SUITE_P(all, hostile, ::testing::ValuesIn(hostile_files),
                         [](const auto& row) { return row.param.name; });

TEST(archive_by_hand, is_good_as_it_stands) {
  const scratch directory;
  directory.write("model.pt", with_forward(""));
  const auto outcome = run_in(directory, eval({"--json"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["samples"], 32);
}

const std::string saves = "    torch.save(x, \"written\")\n";
/// Runs while the model is loaded, before anything is evaluated.
const std::string saves_at_load =
    "  def __setstate__(self: __torch__.Net,\n    state: bool) -> NoneType:\n"
    "    torch.save(state, \"written\")\n    self.training = state\n    return None\n"
    "  def __getstate__(self: __torch__.Net) -> bool:\n    return self.training\n";

TEST(effects, are_refused_before_they_happen_and_named) {
  const scratch directory;
  directory.write("model.pt", with_forward(saves));
  using commands = std::vector<std::vector<std::string>>;
  for (const auto& command : commands{
           eval({}), {"inspect", "model.pt", "--data", mnist()}, {"plan", "--model", "model.pt", "--data", mnist()}}) {
    const auto outcome = run_in(directory, command);
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0212: model.pt, class __torch__.Net, forward(), line 7"));
    EXPECT_THAT(outcome.err, HasSubstr("writes a file (torch.save)"));
    EXPECT_THAT(outcome.err, HasSubstr("--allow-effects"));
  }
  EXPECT_EQ(directory.entries(), std::set<std::string>{"model.pt"});
}

TEST(effects, at_load_are_refused_before_they_happen) {
  const scratch directory;
  const std::string state = std::string("\x80\x02") + "c__torch__\nNet\n)\x81\x89" + "b.";
  directory.write("model.pt", model_archive(net_code(saves_at_load + net_forward("")), state));
  const auto refused = run_in(directory, {"inspect", "model.pt"});
  EXPECT_EQ(refused.status, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("__setstate__()"));
  EXPECT_EQ(directory.entries(), std::set<std::string>{"model.pt"});
  const auto allowed = run_in(directory, {"inspect", "model.pt", "--allow-effects"});
  EXPECT_EQ(allowed.status, 0) << allowed.err;
  EXPECT_THAT(directory.entries(), ::testing::Contains("written"));
}

TEST(effects, happen_where_they_are_allowed) {
  const scratch directory;
  directory.write("model.pt", with_forward(saves));
  const auto outcome = run_in(directory, eval({"--allow-effects"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(directory.entries(), ::testing::Contains("written"));
}

const std::string prints = "    print(\"line of the model\")\n";

TEST(print, leaves_stdout_to_the_result) {
  const scratch directory;
  directory.write("model.pt", with_forward(prints));
  using commands = std::vector<std::vector<std::string>>;
  for (const auto& command :
       commands{eval({"--json", "--allow-effects"}),
                eval({"--json", "--allow-effects", "--processes"}),
                {"plan", "--model", "model.pt", "--data", mnist(), "--json", "--allow-effects"}}) {
    const auto outcome = run_in(directory, command);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(json::accept(outcome.out)) << outcome.out;
    EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("line of the model")));
    EXPECT_THAT(outcome.err, HasSubstr("line of the model\n"));
  }
}

TEST(print, of_a_worker_reaches_stderr_under_the_name_of_its_stage) {
  const scratch directory;
  directory.write("model.pt", with_forward(prints));
  const auto outcome = run_in(directory, eval({"--allow-effects", "--processes"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::ContainsRegex("\\[stage 0[^\n]*\\] line of the model\n"));
}

}  // namespace
}  // namespace troupe::testing
