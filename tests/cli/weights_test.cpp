// Goal: published weights evaluate from the command line without Python, with the known count and the same bits from
// every format, at every number of stages and after a kill, and what does not fit together is refused by name. Method:
// the built program on the ResNet-20 of the repository, whose tensors are also written here in other formats.
#include <array>
#include <map>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"
#include <troupe/weights.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using json = nlohmann::json;
using words = std::vector<std::string>;

std::string cifar(const std::string& name) {
  return std::filesystem::absolute(data_dir() / "cifar10" / name).string();
}

words operator+(words all, const words& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const words arch = {"--arch", "resnet20-cifar", "--weights"};
const words exported = {"--model", cifar("resnet20.pt")};

program_outcome eval(const words& arguments, const scratch* in = nullptr) {
  program_call call{.arguments = words{"eval"} + arguments +
                                 words{"--data", "cifar10:" + cifar("test_batch_1000.bin"), "--metrics",
                                       "accuracy,cross_entropy", "--threads", "1", "--json"}};
  if (in != nullptr) call.directory = in->path().string();
  return run_troupe(call);
}

json metrics_of(const words& arguments, const scratch* in = nullptr) {
  const program_outcome outcome = eval(arguments, in);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.status == 0 ? json::parse(outcome.out)["metrics"] : json();
}

/// With the names of the training.
state_dict published() {
  return *load_weights(cifar("resnet20.th"));
}
/// The same numbers, with the names of the exported model.
state_dict published_for_export() {
  return *load_weights(cifar("resnet20_dict.pt"));
}

void write(const scratch& directory, const std::string& name, const state_dict& dict,
           weights_format format = weights_format::safetensors) {
  std::filesystem::create_directories((directory.path() / name).parent_path());
  const auto written = save_weights(directory.path() / name, dict, format);
  ASSERT_TRUE(written) << to_string(written.error());
}

/// The dict in two files, with the index that says which tensor is where.
void write_shards(const scratch& directory, const std::string& folder, const state_dict& dict) {
  const std::ptrdiff_t half = static_cast<std::ptrdiff_t>(dict.size()) / 2;
  const std::map<std::string, state_dict> parts{
      {"model-00001-of-00002.safetensors", {dict.begin(), dict.begin() + half}},
      {"model-00002-of-00002.safetensors", {dict.begin() + half, dict.end()}}};
  json index;
  for (const auto& [name, part] : parts) {
    for (const named_tensor& each : part) index["weight_map"][each.name] = name;
    write(directory, folder + "/" + name, part);
  }
  directory.write(folder + "/model.safetensors.index.json", index.dump());
}

TEST(published_weights, give_the_count_of_the_exported_model_and_equal_bits_from_every_format) {
  const scratch directory;
  write(directory, "one.safetensors", published());
  write(directory, "dict.pt", published(), weights_format::torch_zip);
  write_shards(directory, "shards", published());
  const json known = metrics_of(exported);
  const json legacy = metrics_of(arch + words{cifar("resnet20.th")});
  EXPECT_EQ(legacy["accuracy"], known["accuracy"]);
  EXPECT_NEAR(legacy["cross_entropy"]["sum"].get<double>(), known["cross_entropy"]["sum"].get<double>(), 1e-3);
  for (const std::string each : {"one.safetensors", "dict.pt", "shards", "shards/model.safetensors.index.json"}) {
    EXPECT_EQ(metrics_of(arch + words{each}, &directory), legacy) << each;
  }
}

TEST(published_weights, give_equal_bits_in_every_layout_and_after_a_kill) {
  const words resnet = arch + words{cifar("resnet20.th")};
  const json whole = metrics_of(resnet);
  for (const words& layout : {words{"--stages", "2"}, words{"--stages", "4"}, words{"--stages", "2", "--processes"},
                              words{"--stages", "4", "--processes", "--fault", "kill:stage=stage.1,at=mb5"}}) {
    const program_outcome outcome = eval(resnet + layout);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["metrics"], whole) << ::testing::PrintToString(layout);
    if (layout.back().starts_with("kill")) EXPECT_THAT(outcome.err, HasSubstr("was replaced"));
  }
}

TEST(other_weights, take_the_place_of_those_in_an_exported_model) {
  const json own = metrics_of(exported);
  for (const std::string each : {"resnet20_dict.pt", "resnet20_ordered.pt"}) {
    EXPECT_EQ(metrics_of(exported + words{"--weights", cifar(each)}), own) << each;
  }
  state_dict changed = published_for_export();
  for (named_tensor& each : changed) {
    if (each.name == "14.bias") each.tensor = each.tensor + at::arange(10);
  }
  const scratch directory;
  write(directory, "changed.safetensors", changed);
  const words with_changed = exported + words{"--weights", "changed.safetensors"};
  const json other = metrics_of(with_changed, &directory);
  EXPECT_LT(other["accuracy"]["correct"], own["accuracy"]["correct"]);
  EXPECT_EQ(metrics_of(with_changed + words{"--stages", "3", "--processes"}, &directory), other);
}

/// A model, and its state dict.
const std::vector<std::pair<words, state_dict (*)()>> models = {{arch, published},
                                                                {exported + words{"--weights"}, published_for_export}};

/// The layers of `troupe inspect`, each with its weights by the names within the layer.
void write_checkpoint(const scratch& directory, const std::string& tag, const state_dict& dict) {
  const program_outcome drawn = run_troupe({.arguments = {"inspect", cifar("resnet20.pt"), "--json"}});
  const json layers = json::parse(drawn.out)["layers"];
  std::filesystem::create_directories(directory.path() / "saved" / tag);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::string prefix = layers[layer]["name"].get<std::string>() + ".";
    state_dict own;
    for (const named_tensor& each : dict) {
      if (each.name.starts_with(prefix)) own.push_back({each.name.substr(prefix.size()), each.tensor});
    }
    const std::string number = (layer < 10 ? "0" : "") + std::to_string(layer);
    const std::string file = "saved/" + tag + "/layer_" + number + "-model_states.pt";
    ASSERT_TRUE(save_weights(directory.path() / file, own, weights_format::torch_zip));
  }
}

TEST(other_weights, come_from_the_folder_of_a_checkpoint_by_its_latest_or_another_tag) {
  const scratch directory;
  state_dict halved = published_for_export();
  for (named_tensor& each : halved) {
    if (each.name == "14.weight") each.tensor = each.tensor / 2;
  }
  write_checkpoint(directory, "first", published_for_export());
  write_checkpoint(directory, "second", halved);
  directory.write("saved/latest", "second");
  const words limit = {"--limit", "100"};
  const json whole = metrics_of(exported + limit);
  const json of_first = metrics_of(exported + words{"--weights", "saved/first"} + limit, &directory);
  const json of_latest = metrics_of(exported + words{"--weights", "saved"} + limit, &directory);
  EXPECT_EQ(of_first, whole);
  EXPECT_NE(of_latest, whole);
  const words in_workers = {"--stages", "3", "--processes", "--fault", "kill:stage=stage.1,at=mb1"};
  EXPECT_EQ(metrics_of(exported + words{"--weights", "saved"} + limit + in_workers, &directory), of_latest);
  const program_outcome other = eval(exported + words{"--weights", "saved/third"}, &directory);
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, HasSubstr("E0201"));
}

TEST(other_weights, of_a_checkpoint_are_cast_as_those_of_a_file) {
  const scratch directory;
  write_checkpoint(directory, "step1", published_for_export());
  directory.write("saved/latest", "step1");
  const words limit = {"--limit", "200"};
  const json single = metrics_of(exported + limit);
  const words cast = limit + words{"--dtype", "bfloat16"};
  const json of_file = metrics_of(exported + words{"--weights", cifar("resnet20_dict.pt")} + cast);
  EXPECT_NE(of_file, single);
  EXPECT_NEAR(of_file["accuracy"]["correct"].get<double>(), single["accuracy"]["correct"].get<double>(), 4);
  for (const words& layout : {words{}, words{"--stages", "3", "--processes"}}) {
    EXPECT_EQ(metrics_of(exported + words{"--weights", "saved"} + cast + layout, &directory), of_file);
  }
}

TEST(weights_left_over, are_refused_by_name_and_taken_where_that_is_asked_for) {
  for (const auto& [model, dict] : models) {
    state_dict more = dict();
    const scratch directory;
    write(directory, "all.safetensors", more);
    more.push_back({"teacher.weight", at::zeros({2})});
    write(directory, "more.safetensors", more);
    const program_outcome refused = eval(model + words{"more.safetensors"}, &directory);
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("error E0218: more.safetensors"),
                                   HasSubstr("1 unexpected: teacher.weight\n"), HasSubstr("add --not-strict")));
    EXPECT_EQ(metrics_of(model + words{"more.safetensors", "--not-strict"}, &directory),
              metrics_of(model + words{"all.safetensors"}, &directory));
  }
}

TEST(weights_that_are_missing, stay_as_they_are_in_an_exported_model_only) {
  const std::vector<std::string> lost = {"linear.bias", "14.bias"};
  const scratch directory;
  for (std::size_t i = 0; i < models.size(); ++i) {
    state_dict fewer = models[i].second();
    std::erase_if(fewer, [&](const named_tensor& each) { return each.name == lost[i]; });
    write(directory, lost[i], fewer);
    const program_outcome refused = eval(models[i].first + words{lost[i]}, &directory);
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, HasSubstr("1 missing: " + lost[i] + " [10]\n"));
  }
  EXPECT_EQ(metrics_of(exported + words{"--weights", "14.bias", "--not-strict"}, &directory), metrics_of(exported));
  const program_outcome refused = eval(arch + words{"linear.bias", "--not-strict"}, &directory);
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("1 missing: linear.bias [10]\n"));
}

/// Each name with a prefix.
state_dict within(const std::string& prefix, state_dict dict) {
  for (named_tensor& each : dict) each.name.insert(0, prefix);
  return dict;
}

TEST(weights_of_which_no_name_fits, are_refused_also_where_not_strict) {
  const scratch directory;
  for (const auto& [model, dict] : models) {
    write(directory, "net.safetensors", within("net.", dict()));
    for (const words& how : {words{}, words{"--not-strict"}}) {
      const program_outcome refused = eval(model + words{"net.safetensors"} + how, &directory);
      EXPECT_EQ(refused.status, 3);
      EXPECT_THAT(refused.err, AllOf(HasSubstr("error E0218: net.safetensors"),
                                     HasSubstr("fix: every name of the file begins with \"net.\": save the state dict "
                                               "without it")));
    }
  }
  write(directory, "other.safetensors", {{"other", at::ones({2})}});
  const program_outcome other = eval(exported + words{"--weights", "other.safetensors", "--not-strict"}, &directory);
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, AllOf(HasSubstr("1 unexpected: other\n"), HasSubstr("give weights that were saved from")));
}

struct refused_weights {
  std::string name;
  words arguments;
  int status;
  std::string code;
  /// In the message.
  std::string piece;
};

constexpr int usage = 2;
constexpr int input = 3;

const std::vector<refused_weights> table = {
    {"unknown_arch",
     {"--arch", "resnet21-cifar", "--weights", "th"},
     input,
     "E0219",
     "give one of resnet101, resnet110-cifar"},
    {"other_arch", {"--arch", "resnet32-cifar", "--weights", "th"}, input, "E0218", "missing: layer1.3.conv1.weight"},
    {"missing", arch + words{"nowhere.th"}, input, "E0201", "nowhere.th"},
    {"text", arch + words{"text.pt"}, input, "E0207", "text.pt"},
    {"no_weights_in_folder", arch + words{"empty"}, input, "E0207", "the folder has no weights"},
    {"arch_and_model", arch + words{"th", "--model", "th"}, usage, "E0104", "leave out --model or --arch"},
    {"arch_alone", {"--arch", "resnet20-cifar"}, usage, "E0105", "--weights"},
    {"weights_alone", {"--weights", "th"}, usage, "E0105", "--model"},
    {"no_config", {"--model", "empty"}, input, "E0202", "empty"},
    {"config_of_no_json", {"--model", "text"}, input, "E0210", "text/config.json"},
    {"config_too_deep", {"--model", "deep"}, input, "E0214", "deep/config.json"},
    {"config_of_no_object", {"--model", "list"}, input, "E0210", "list/config.json"},
    {"config_without_class", {"--model", "none"}, input, "E0219", "no key architectures"},
    {"config_of_other_class", {"--model", "other"}, input, "E0219", "\"NoSuchModel\" is not built in"},
    {"config_without_weights", {"--model", "bare"}, input, "E0207", "the folder has no weights"},
};

class refused_weights_run : public ::testing::TestWithParam<refused_weights> {};

TEST_P(refused_weights_run, ends_with_its_code_and_a_fix) {
  const scratch directory;
  directory.write("text.pt", "import torch\n");
  directory.write("text/config.json", "import torch\n");
  directory.write("deep/config.json", std::string(100000, '['));
  const std::string class_alone = R"({"architectures": ["NoSuchModel"]})";
  directory.write("bare/config.json", class_alone);
  for (const auto& [folder, text] : std::map<std::string, std::string>{
           {"list", "[]"}, {"none", R"({"model_type": "bert"})"}, {"other", class_alone}}) {
    directory.write(folder + "/config.json", text);
    write(directory, folder + "/model.safetensors", {{"weight", at::ones({1})}});
  }
  std::filesystem::create_directory(directory.path() / "empty");
  std::filesystem::create_symlink(cifar("resnet20.th"), directory.path() / "th");
  const program_outcome outcome = eval(GetParam().arguments, &directory);
  EXPECT_EQ(outcome.status, GetParam().status) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("error " + GetParam().code), HasSubstr(GetParam().piece), HasSubstr("\n  fix: ")));
}

INSTANTIATE_TEST_SUITE_P(all, refused_weights_run, ::testing::ValuesIn(table),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace troupe::testing
