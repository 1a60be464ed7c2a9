// Goal: checkpoints reach all replicas of a pipeline, and take the type of numbers that the engine computes in, in one
// process and in workers. Method: as in pipeline_checkpoints_test.cpp, of whose program this is a part; the model of
// PyTorch is cast by LibTorch.
#include "tests/program/checkpoint_engines.hpp"

namespace troupe::testing {
namespace {

TEST_F(checkpoints, load_into_all_replicas) {
  for (const bool has_workers : {false, true}) {
    const auto engine = start_engine({.stages = 2, .has_workers = has_workers, .replicas = 2});
    ASSERT_TRUE(engine->load_checkpoint(recorded("checkpoint")));
    expect_bits(outputs_of(*engine), plain_outputs("second.pt"));
    const auto state = get(load_weights(recorded("state.pt")));
    expect_equal(get(engine->module_state_dict()), state);
    ASSERT_TRUE(engine->save_checkpoint(dir_, "replicas"));
    const auto single = start_engine("file", 1);
    ASSERT_TRUE(single->load_checkpoint(dir_));
    expect_equal(get(single->module_state_dict()), state);
  }
}

TEST_F(checkpoints, of_layers_in_code_load_into_all_replicas) {
  const auto from = start_engine("code", 1);
  auto state = get(from->module_state_dict());
  for (named_tensor& each : state) each.tensor = at::arange(each.tensor.numel()).cos().reshape(each.tensor.sizes());
  ASSERT_TRUE(from->load_module_state_dict(state));
  ASSERT_TRUE(from->save_checkpoint(dir_, "code"));
  const auto wanted = outputs_of(*from);
  for (const bool has_workers : {false, true}) {
    const auto to = start_engine({.model = "code", .stages = 2, .has_workers = has_workers, .replicas = 3});
    ASSERT_TRUE(to->load_checkpoint(dir_));
    expect_bits(outputs_of(*to), wanted);
    expect_equal(get(to->module_state_dict()), state);
  }
}

TEST_F(checkpoints, are_cast_to_the_type_of_the_engine) {
  auto rounded = get(load_weights(recorded("state.pt")));
  for (named_tensor& each : rounded)
    if (each.tensor.is_floating_point()) each.tensor = each.tensor.to(at::kBFloat16);
  for (const bool has_workers : {false, true}) {
    const auto engine = start_engine({.stages = 2, .has_workers = has_workers, .is_bfloat16 = true});
    expect_bits(outputs_of(*engine), plain_outputs("first.pt", at::kBFloat16));
    ASSERT_TRUE(engine->load_checkpoint(recorded("checkpoint")));
    expect_bits(outputs_of(*engine), plain_outputs("second.pt", at::kBFloat16));
    expect_equal(get(engine->module_state_dict()), rounded);
    ASSERT_TRUE(engine->save_checkpoint(dir_, "rounded"));
  }
  const auto in_float32 = start_engine("file", 1);
  ASSERT_TRUE(in_float32->load_checkpoint(dir_));
  const auto widened = get(in_float32->module_state_dict());
  ASSERT_EQ(widened.size(), rounded.size());
  for (std::size_t i = 0; i < rounded.size(); ++i)
    EXPECT_TRUE(at::equal(widened[i].tensor, rounded[i].tensor.to(widened[i].tensor.scalar_type())));
}

TEST_F(checkpoints, of_layers_in_code_are_cast_to_the_type_of_the_engine) {
  const auto from = start_engine("code", 1);
  ASSERT_TRUE(from->save_checkpoint(dir_, "code"));
  auto rounded = get(from->module_state_dict());
  for (named_tensor& each : rounded) each.tensor = each.tensor.mul(2).to(at::kBFloat16);
  ASSERT_TRUE(from->load_module_state_dict(rounded));
  ASSERT_TRUE(from->save_checkpoint(dir_, "twice"));
  for (const bool has_workers : {false, true}) {
    const auto to = start_engine({.model = "code", .stages = 2, .has_workers = has_workers, .is_bfloat16 = true});
    ASSERT_TRUE(to->load_checkpoint(dir_));
    expect_equal(get(to->module_state_dict()), rounded);
    at::Tensor plain = some_batches().front().inputs.only().flatten(1).to(at::kBFloat16);
    for (const std::size_t at : {0u, 2u, 4u, 6u}) plain = at::linear(plain, rounded[at].tensor, rounded[at + 1].tensor);
    EXPECT_TRUE(at::equal(outputs_of(*to).front(), plain));
  }
}

}  // namespace
}  // namespace troupe::testing
