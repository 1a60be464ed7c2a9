#include <ATen/ops/full.h>
#include <nlohmann/json.hpp>

#include "tests/cli/fix_rows.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe::testing {
namespace {

constexpr auto vit_class = "ViTForImageClassification";

/// As small as the class can be: a token for each quarter of a digit, and no layer.
nlohmann::json vit_config() {
  return {{"architectures", {vit_class}},
          {"model_type", "vit"},
          {"hidden_size", 4},
          {"num_hidden_layers", 0},
          {"num_attention_heads", 1},
          {"intermediate_size", 4},
          {"image_size", 28},
          {"patch_size", 14},
          {"num_channels", 1}};
}

state_dict vit_weights(const std::string& prefix = "") {
  state_dict made;
  const auto add = [&](const std::string& name, at::IntArrayRef sizes) {
    made.push_back({prefix + name, at::full(sizes, 0.01)});
  };
  add("vit.embeddings.cls_token", {1, 1, 4});
  add("vit.embeddings.position_embeddings", {1, 5, 4});
  add("vit.embeddings.patch_embeddings.projection.weight", {4, 1, 14, 14});
  add("vit.embeddings.patch_embeddings.projection.bias", {4});
  add("vit.layernorm.weight", {4});
  add("vit.layernorm.bias", {4});
  add("classifier.weight", {10, 4});
  add("classifier.bias", {10});
  return made;
}

void write_config(const scratch& d, const std::string& folder, const nlohmann::json& config) {
  d.write(folder + "/config.json", config.dump());
}
void write_weights(const scratch& d, const std::string& file, const state_dict& weights) {
  std::filesystem::create_directories((d.path() / file).parent_path());
  get(save_weights(d.path() / file, weights));
}
void mend_class(const scratch& d, const std::string& folder) {
  nlohmann::json config = nlohmann::json::parse(file_content(d.path() / folder / "config.json"));
  config["architectures"] = {vit_class};
  write_config(d, folder, config);
}

const std::string resnet = "@/data/cifar10/resnet20.th";

words eval_resnet(const words& model) {
  words all = {"eval", "--data", "cifar10:cifar.bin"};
  all.insert(all.end(), model.begin(), model.end());
  return all;
}

const std::vector<followed_fix> weights_rows = {
    {.name = "weights_alone",
     .code = "E0105",
     .arguments = eval_resnet({"--weights", resnet}),
     .fix = "add --arch NAME",
     .then = eval_resnet({"--weights", resnet, "--arch", "resnet20-cifar"})},
    {.name = "weights_of_a_folder_alone",
     .code = "E0105",
     .arguments = {"eval", "--weights", "vit/model.safetensors", "--data", "mnist:good-mnist"},
     .fix = "give that folder alone: --model FOLDER",
     .then = eval_model("vit")},
    {.name = "misspelled_architecture",
     .code = "E0219",
     .arguments = eval_resnet({"--weights", resnet, "--arch", "resent20-cifar"}),
     .fix = "write --arch resnet20-cifar",
     .then = eval_resnet({"--weights", resnet, "--arch", "resnet20-cifar"})},
    {.name = "architecture_of_a_folder",
     .code = "E0219",
     .arguments = {"eval", "--arch", "bert", "--weights", "vit/model.safetensors", "--data", "mnist:good-mnist"},
     .fix = "give the folder that has its config.json and its weights: --model FOLDER, without --arch and --weights",
     .then = eval_model("vit")},
    {.name = "folder_of_a_tokenizer",
     .code = "E0202",
     .arguments = eval_model("tokenizer"),
     .fix = "give a folder that has config.json and the weights",
     .then = eval_model("vit")},
    {.name = "folder_with_a_model",
     .code = "E0202",
     .arguments = eval_model("models"),
     .fix = "name the file inside it: models/inside.pt",
     .then = eval_model("models/inside.pt")},
    {.name = "folder_of_weights",
     .code = "E0202",
     .arguments = eval_model("weights"),
     .fix = "put the config.json that belongs to the weights into the folder",
     .then = eval_model("weights"),
     .act = [](const scratch& d) { copy_file(d, "vit/config.json", "weights/config.json"); }},
    {.name = "folder_around_a_model",
     .code = "E0202",
     .arguments = eval_model("cache"),
     .fix = "give the folder inside it: cache/snapshots/abc",
     .then = eval_model("cache/snapshots/abc")},
    {.name = "not_strict_without_weights",
     .code = "E0104",
     .arguments = eval_model("good.pt", {"--not-strict"}),
     .fix = "leave it out",
     .then = good_eval},
    {.name = "no_class",
     .code = "E0219",
     .arguments = eval_model("no-class"),
     .fix = R"(add "architectures": ["ViTForImageClassification"])",
     .then = eval_model("no-class"),
     .act = [](const scratch& d) { mend_class(d, "no-class"); }},
    {.name = "two_classes",
     .code = "E0219",
     .arguments = eval_model("two-classes"),
     .fix = R"(leave the one that the weights were saved from, such as "architectures": ["ViTForImageClassification"])",
     .then = eval_model("two-classes"),
     .act = [](const scratch& d) { mend_class(d, "two-classes"); }},
    {.name = "misspelled_class",
     .code = "E0219",
     .arguments = eval_model("misspelled-class"),
     .fix = R"(write "architectures": ["ViTForImageClassification"])",
     .then = eval_model("misspelled-class"),
     .act = [](const scratch& d) { mend_class(d, "misspelled-class"); }},
    {.name = "config_as_model",
     .code = "E0207",
     .arguments = eval_model("vit/config.json"),
     .fix = "give the folder, whose config.json says the architecture: --model vit",
     .then = eval_model("vit")},
    {.name = "weights_as_model",
     .code = "E0207",
     .arguments = eval_model("vit/model.safetensors"),
     .fix = "give the folder, whose config.json says the architecture: --model vit",
     .then = eval_model("vit")},
    {.name = "config_without_weights",
     .code = "E0207",
     .arguments = eval_model("bare"),
     .fix = "download the weights, model.safetensors, into the folder",
     .then = eval_model("bare"),
     .act = [](const scratch& d) { copy_file(d, "vit/model.safetensors", "bare/model.safetensors"); }},
    {.name = "weights_of_another_name",
     .code = "E0207",
     .arguments = eval_model("other-name"),
     .fix = "rename other-name/best.safetensors to model.safetensors",
     .then = eval_model("other-name"),
     .act =
         [](const scratch& d) {
           std::filesystem::rename(d.path() / "other-name/best.safetensors", d.path() / "other-name/model.safetensors");
         }},
    {.name = "directory_of_the_weights_name",
     .code = "E0207",
     .arguments = eval_model("directory-for-file"),
     .fix = "put the file in the place of the directory directory-for-file/model.safetensors",
     .then = eval_model("directory-for-file"),
     .act =
         [](const scratch& d) {
           std::filesystem::remove(d.path() / "directory-for-file/model.safetensors");
           copy_file(d, "vit/model.safetensors", "directory-for-file/model.safetensors");
         }},
    {.name = "page_as_weights",
     .code = "E0207",
     .arguments = eval_model("page"),
     .fix = "download the file itself again: a page",
     .then = eval_model("page"),
     .act = [](const scratch& d) { copy_file(d, "vit/model.safetensors", "page/model.safetensors"); }},
    {.name = "page_as_model",
     .code = "E0207",
     .arguments = eval_model("page.pt"),
     .fix = "download the file itself again: a page",
     .then = eval_model("page.pt"),
     .act = [](const scratch& d) { copy_file(d, "good.pt", "page.pt"); }},
    {.name = "names_with_a_prefix",
     .code = "E0218",
     .arguments = eval_model("prefixed"),
     .fix = R"(every name of the file begins with "net.": save the state dict without it)",
     .then = eval_model("prefixed"),
     .act = [](const scratch& d) { write_weights(d, "prefixed/model.safetensors", vit_weights()); }},
};

}  // namespace

void make_folders_to_mend(const scratch& d) {
  for (const std::string each : {"vit", "cache/snapshots/abc", "page", "bare", "other-name", "directory-for-file",
                                 "prefixed", "no-class", "two-classes", "misspelled-class"}) {
    write_config(d, each, vit_config());
  }
  for (const std::string each :
       {"vit", "cache/snapshots/abc", "weights", "no-class", "two-classes", "misspelled-class"}) {
    write_weights(d, each + "/model.safetensors", vit_weights());
  }
  nlohmann::json config = vit_config();
  config.erase("architectures");
  write_config(d, "no-class", config);
  config["architectures"] = {"ViTModel", vit_class};
  write_config(d, "two-classes", config);
  config["architectures"] = {"VitForImageClassification"};
  write_config(d, "misspelled-class", config);
  write_weights(d, "other-name/best.safetensors", vit_weights());
  write_weights(d, "prefixed/model.safetensors", vit_weights("net."));
  std::filesystem::create_directory(d.path() / "directory-for-file/model.safetensors");
  const std::string page = "\n\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n";
  d.write("page/model.safetensors", page);
  d.write("page.pt", page);
  d.write("tokenizer/tokenizer.json", "{}");
  copy_file(d, "good.pt", "models/inside.pt");
}

std::vector<followed_fix> weights_fixes() {
  return weights_rows;
}

}  // namespace troupe::testing
