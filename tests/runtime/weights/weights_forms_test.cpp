// Goal: the state dict is found in what trainings save, and its names lose the prefixes of wrappers and no others.
// Method: pickles written opcode by opcode, in the forms of older versions, of GPUs and of wrappers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pickle_parts.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

using namespace parts;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The names of the weights that were read, in order; the text of an error.
std::vector<std::string> names_in(const std::string& value) {
  const weights_folder folder;
  const auto dict = load_weights(folder.write("weights.pt", zip_file(zip_items(pickle(value)))));
  if (!dict) return {to_string(dict.error())};
  std::vector<std::string> names;
  for (const named_tensor& each : *dict) names.push_back(each.name);
  return names;
}

/// That the tensor "w" in it has the numbers 0 to 5, in both formats.
void expect_six_floats(const std::string& value) {
  const weights_folder folder;
  for (const std::string& file : {zip_file(zip_items(pickle(value))), legacy_file(pickle(value))}) {
    const state_dict dict = loaded(folder.write("weights.pt", file));
    const at::Tensor found = tensor_named(dict, "w");
    ASSERT_TRUE(found.defined());
    ASSERT_EQ(found.numel(), 6);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(found.flatten()[i].item<float>(), static_cast<float>(i));
  }
}

const std::string ordered_dict = global("collections", "OrderedDict");
std::string named(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> items;
  for (const std::string& each : names) items.emplace_back(each, tensor());
  return dict(items);
}

TEST(forms, of_a_tensor) {
  const std::string rebuild = global("torch._utils", "_rebuild_tensor");
  expect_six_floats(dict({{"w", call(rebuild, {storage(), whole(0), sizes({2, 3}), sizes({3, 1})})}}));
  const std::string size = call(global("torch", "Size"), {sizes({6})});
  expect_six_floats(dict({{"w", tensor(storage(), "K\0"s, size, sizes({1}))}}));
  const std::string untyped =
      tuple({text("storage"), global("torch.storage", "UntypedStorage"), text("0"), text("cpu"), whole(24)}) + "Q";
  const std::string with_type =
      call(global("torch._utils", "_rebuild_tensor_v3"),
           {untyped, whole(0), sizes({6}), sizes({1}), "\x89", no_hooks, global("torch", "float32")});
  EXPECT_THAT(names_in(dict({{"w", with_type}})), ElementsAre("w"));
  const std::string parameter = global("torch._utils", "_rebuild_parameter");
  expect_six_floats(dict({{"w", call(parameter, {tensor(), "\x88", no_hooks})}}));
}

TEST(forms, of_a_storage_on_a_gpu) {
  const std::string on_gpu =
      tuple({text("storage"), global("torch.cuda", "FloatStorage"), text("0"), text("cuda:0"), whole(6)}) + "Q";
  expect_six_floats(dict({{"w", tensor(on_gpu)}}));
  const std::string without_view =
      tuple({text("storage"), global("torch", "FloatStorage"), text("0"), text("cpu"), whole(6), "N"}) + "Q";
  expect_six_floats(dict({{"w", tensor(without_view)}}));
}

TEST(forms, of_a_dict) {
  expect_six_floats(ordered_dict + ")R(" + text("w") + tensor() + "u");
  expect_six_floats(ordered_dict + ")R" + text("w") + tensor() + "s");
  // Python 2: OrderedDict([["w", ...]]), with names as bytes
  expect_six_floats(call(ordered_dict, {"](](" + ("U\1w" + tensor()) + "ee"}));
  expect_six_floats("}T\1"s + std::string(3, '\0') + "w" + tensor() + "s");
  // with attributes, as module.state_dict() has them
  expect_six_floats(ordered_dict + ")R(" + text("w") + tensor() + "u" + dict({{"_metadata", ordered_dict + ")R"}}) +
                    "b");
  EXPECT_THAT(names_in("}"), ElementsAre());
}

TEST(forms, of_a_checkpoint) {
  for (const char* name : {"state_dict", "model_state_dict", "model", "module", "net"}) {
    expect_six_floats(dict({{"epoch", "K\1"}, {name, named({"w"})}, {"optimizer", dict({{"state", "}"}})}}));
  }
  EXPECT_THAT(names_in(dict({{"state_dict", dict({{"model", named({"w"})}})}})), ElementsAre("w"));
  // a name or a configuration of that name is none
  EXPECT_THAT(names_in(dict({{"model", text("resnet")}, {"net", named({"w"})}})), ElementsAre("w"));
  EXPECT_THAT(names_in(dict({{"model", dict({{"depth", "K\2"}})}, {"state_dict", named({"w"})}})), ElementsAre("w"));
  const std::string module = global("mine", "Net") + ")\x81" + dict({{"_modules", "}"}}) + "b";
  EXPECT_THAT(names_in(dict({{"model", module}, {"state_dict", named({"w"})}})), ElementsAre("w"));
  EXPECT_THAT(names_in(dict({{"model", module}, {"epoch", "K\1"}})),
              ElementsAre(AllOf(HasSubstr("E0207"), HasSubstr("\"model\" is a whole module of the class mine.Net"))));
  EXPECT_THAT(names_in(dict({{"model", named({"v"})}, {"model_ema", named({"w"})}})), ElementsAre("v"));
  EXPECT_THAT(names_in(dict({{"netG", named({"v"})}, {"netD", named({"w"})}})), ElementsAre(HasSubstr("netG, netD")));
}

TEST(prefix, is_taken_off_where_every_name_has_it) {
  EXPECT_THAT(names_in(named({"module.a", "module.b"})), ElementsAre("a", "b"));
  EXPECT_THAT(names_in(named({"module.a", "b"})), ElementsAre("module.a", "b"));
  EXPECT_THAT(names_in(named({"module._orig_mod.a", "module._orig_mod.b"})), ElementsAre("a", "b"));
  EXPECT_THAT(names_in(named({"_orig_mod.module.module.a"})), ElementsAre("a"));
  EXPECT_THAT(names_in(named({"module.a", "modules.b"})), ElementsAre("module.a", "modules.b"));
  EXPECT_THAT(names_in(named({"module.a", "module.module.a"})), ElementsAre("a", "module.a"));
  EXPECT_THAT(names_in(named({"module.a", "module."})), ElementsAre("module.a", "module."));
}

TEST(prefix, of_lightning_is_taken_off_in_its_checkpoints_alone) {
  const auto checkpoint = [](const std::string& state) {
    return dict({{"pytorch-lightning_version", text("2.5")}, {"state_dict", state}});
  };
  EXPECT_THAT(names_in(named({"model.a", "model.b"})), ElementsAre("model.a", "model.b"));
  EXPECT_THAT(names_in(checkpoint(named({"model.a", "model.b"}))), ElementsAre("a", "b"));
  EXPECT_THAT(names_in(checkpoint(named({"model.a", "loss.b"}))), ElementsAre("model.a", "loss.b"));
  EXPECT_THAT(names_in(checkpoint(named({"model._orig_mod.a"}))), ElementsAre("a"));
}

TEST(safetensors, may_have_a_header_whose_length_begins_as_a_text_does) {
  std::string header = R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  header.resize('{', ' ');
  const weights_folder folder;
  const state_dict dict = loaded(folder.write("model.safetensors", safetensors_file(header, 4)));
  EXPECT_TRUE(at::equal(tensor_named(dict, "w"), at::ones({4}, at::kByte)));
}

TEST(extra_state, is_left_out) {
  EXPECT_THAT(names_in(dict({{"w", tensor()}, {"a._extra_state", "N"}, {"b._extra_state", "]"}})), ElementsAre("w"));
  EXPECT_THAT(names_in(dict({{"w", tensor()}, {"a._extra_state", tensor()}})), ElementsAre("w", "a._extra_state"));
}

}  // namespace
}  // namespace troupe::testing
