// Goal: every form in which PyTorch and safetensors write weights gives the bits that they were written with, under the
// names that a model has, as views of the file.
// Method: files that PyTorch 2.11 wrote (recorded/make_weights.py), with their values in safetensors; those are read
// against numbers in JSON.
#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../../support/paths.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(weights, safetensors_of_all_types_have_their_values) {
  const state_dict dict = loaded(recorded_weights("all_types.safetensors"));
  const auto described = nlohmann::json::parse(bytes_of(recorded_weights("all_types.json")));
  ASSERT_EQ(dict.size(), described.size());
  const std::map<std::string, c10::ScalarType> types = {{"float32", at::kFloat},
                                                        {"float16", at::kHalf},
                                                        {"bfloat16", at::kBFloat16},
                                                        {"float64", at::kDouble},
                                                        {"uint8", at::kByte},
                                                        {"int8", at::kChar},
                                                        {"int16", at::kShort},
                                                        {"int32", at::kInt},
                                                        {"int64", at::kLong},
                                                        {"bool", at::kBool},
                                                        {"uint16", at::kUInt16},
                                                        {"uint32", at::kUInt32},
                                                        {"uint64", at::kUInt64},
                                                        {"float8_e4m3fn", at::kFloat8_e4m3fn},
                                                        {"float8_e5m2", at::kFloat8_e5m2}};
  for (const auto& [name, wanted] : described.items()) {
    const at::Tensor found = tensor_named(dict, name);
    ASSERT_TRUE(found.defined()) << name;
    EXPECT_EQ(found.scalar_type(), types.at(wanted.at("dtype"))) << name;
    EXPECT_EQ(found.sizes().vec(), wanted.at("shape").get<std::vector<std::int64_t>>()) << name;
    const auto values = wanted.at("values").get<std::vector<double>>();
    const at::Tensor flat = found.to(at::kDouble).flatten();
    ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(values.size())) << name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(flat[static_cast<std::int64_t>(i)].item<double>(), values[i]) << name;
    }
  }
}

struct same_weights {
  const char* file;
  const char* values;
};

class recorded_file : public ::testing::TestWithParam<same_weights> {};

TEST_P(recorded_file, has_the_bits_that_were_saved) {
  const auto [file, values] = GetParam();
  const state_dict wanted = loaded(recorded_weights(std::string(values) + ".values.safetensors"));
  expect_equal(loaded(recorded_weights(file)), wanted, file);
}

INSTANTIATE_TEST_SUITE_P(
    all, recorded_file,
    ::testing::Values(same_weights{"ordered.pt", "tensors"}, same_weights{"plain.pt", "tensors"},
                      same_weights{"ordered_legacy.pt", "tensors"}, same_weights{"protocol4.pt", "tensors"},
                      same_weights{"protocol5_legacy.pt", "tensors"}, same_weights{"new_types.pt", "new_types"},
                      same_weights{"module.pt", "module"}, same_weights{"parameters.pt", "parameters"},
                      same_weights{"checkpoint.pt", "module"}, same_weights{"checkpoint_legacy.pt", "module"},
                      same_weights{"lightning.ckpt", "module"}),
    [](const auto& each) {
      std::string name = each.param.file;
      return name.replace(name.find('.'), 1, "_");
    });

TEST(weights, names_come_in_the_order_of_the_dict) {
  for (const char* file : {"module.pt", "checkpoint_legacy.pt", "lightning.ckpt"}) {
    const state_dict dict = loaded(recorded_weights(file));
    std::vector<std::string> names;
    for (const named_tensor& each : dict) names.push_back(each.name);
    EXPECT_THAT(names, ::testing::ElementsAre("0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                              "1.running_var", "1.num_batches_tracked", "2.weight", "2.bias"))
        << file;
  }
}

TEST(weights, that_share_memory_go_on_sharing_it) {
  for (const char* file : {"ordered.pt", "ordered_legacy.pt", "protocol4.pt"}) {
    const state_dict dict = loaded(recorded_weights(file));
    EXPECT_TRUE(tensor_named(dict, "tied.one").is_same_size(tensor_named(dict, "tied.other"))) << file;
    EXPECT_EQ(tensor_named(dict, "tied.one").data_ptr(), tensor_named(dict, "tied.other").data_ptr()) << file;
    EXPECT_EQ(tensor_named(dict, "view.part").storage().data(), tensor_named(dict, "view.transposed").storage().data())
        << file;
    EXPECT_EQ(tensor_named(dict, "view.transposed").strides().vec(), (std::vector<std::int64_t>{1, 6})) << file;
  }
}

TEST(weights, are_views_and_a_write_stays_in_this_process) {
  const weights_folder folder;
  for (const char* name : {"ordered.pt", "tensors.values.safetensors"}) {
    const std::string before = bytes_of(recorded_weights(name));
    const auto file = folder.write(name, before);
    const state_dict one = loaded(file);
    const state_dict other = loaded(file);
    tensor_named(one, "first.weight").fill_(7);
    EXPECT_FALSE(equals_in_bits(tensor_named(one, "first.weight"), tensor_named(other, "first.weight"))) << name;
    EXPECT_EQ(bytes_of(file), before) << name;
    std::filesystem::remove(file);
    EXPECT_TRUE(equals_in_bits(tensor_named(other, "first.bias"), tensor_named(one, "first.bias"))) << name;
  }
}

TEST(weights, of_one_network_are_equal_in_the_two_forms_of_a_dict) {
  const state_dict plain = loaded(data_dir() / "cifar10/resnet20_dict.pt");
  EXPECT_EQ(plain.size(), 118U);
  expect_equal(loaded(data_dir() / "cifar10/resnet20_ordered.pt"), plain, "resnet20_ordered.pt");
}

struct refused_weights {
  const char* file;
  const char* code;
  const char* says;
};

TEST(weights, that_cannot_be_read_say_why) {
  for (const auto& [file, code, says] :
       {refused_weights{"quantized.pt", "error E0217", "the tensor packed.weight is quantized"},
        refused_weights{"sparse.pt", "error E0217", "the tensor sparse.weight is sparse"},
        refused_weights{"ema_only.pt", "error E0207", "it has ema, optimizer"},
        refused_weights{"whole_module.pt", "error E0207",
                        "a whole module of the class torch.nn.modules.container.Sequential"},
        refused_weights{"whole_module_legacy.pt", "error E0207",
                        "a whole module of the class torch.nn.modules.container.Sequential"},
        refused_weights{"make_weights.py", "error E0207", "neither a safetensors file nor one of torch.save"},
        refused_weights{
            "", "error E0207",
            "none of the files model.safetensors.index.json, model.safetensors, pytorch_model.bin.index.json, "
            "pytorch_model.bin"},
        refused_weights{"nothing.pt", "error E0201", "does not exist"}}) {
    EXPECT_THAT(weights_outcome(recorded_weights(file)), AllOf(HasSubstr(code), HasSubstr(says))) << file;
  }
  EXPECT_THAT(weights_outcome(data_dir() / "cifar10/resnet20.pt"),
              AllOf(HasSubstr("error E0207"), HasSubstr("a TorchScript model")));
}

}  // namespace
}  // namespace troupe::testing
