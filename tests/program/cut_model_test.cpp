// Goal: `auto` times layers exactly where times can change the cut, within a budget of its own, and is `parameters`
// elsewhere; other inputs than the model takes are an error. Method: a model whose first layer takes many times as long
// as the others together.
#include "program/models/cut_model.hpp"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/runtime/model/torchscript.hpp"

namespace troupe::testing {
namespace {

/// All parameters are in the last layer, and nearly all time is spent in the first.
layered_model model_of(std::size_t layers) {
  const auto slow = scripted("Layer",
                             "def forward(self, x):\n"
                             "  y = torch.ones([200, 200])\n"
                             "  y = torch.mm(torch.mm(torch.mm(y, y), y), y)\n"
                             "  return x + y[:1, :3]\n");
  const auto fast = scripted("Layer", "def forward(self, x):\n  return x + 1\n");
  children parts;
  for (std::size_t layer = 0; layer + 1 < layers; ++layer)
    parts.emplace_back("l" + std::to_string(layer), layer == 0 ? slow : fast);
  parts.emplace_back("last", linear("Layer", 3, 25));
  return {make_model(sequential("Net", parts), "model")->graph(), layer_unit::modules};
}

payload_ptr sample_if(bool has_sample) {
  return has_sample ? make_tensors(at::ones({2, 3})) : nullptr;
}

cut_places places_of(std::size_t layers, std::uint32_t stages, const std::string& method, bool has_sample) {
  layered_model model = model_of(layers);
  const auto found = find_places(model, {.stages = stages, .optimize = optimize_mode::none, .partition = method},
                                 sample_if(has_sample));
  EXPECT_TRUE(found) << to_string(found.error());
  return found.value_or(cut_places{});
}

TEST(automatic_partition, times_the_layers_where_there_is_a_choice) {
  const cut_places found = places_of(4, 2, "auto", true);
  EXPECT_EQ(found.boundaries, (part_boundaries{0, 1, 4}));
  EXPECT_EQ(found.cut_by, "profile");
  EXPECT_EQ(found.seconds.size(), 4U);
}

struct untimed_case {
  std::size_t layers;
  std::uint32_t stages;
  bool has_sample;
};

TEST(automatic_partition, times_nothing_for_one_stage_for_the_only_cut_and_without_a_sample) {
  for (const auto& [layers, stages, has_sample] :
       {untimed_case{4, 1, true}, untimed_case{1, 1, true}, untimed_case{4, 4, true}, untimed_case{4, 2, false}}) {
    const cut_places found = places_of(layers, stages, "auto", has_sample);
    EXPECT_TRUE(found.seconds.empty()) << layers << " layers, " << stages << " stages";
    EXPECT_EQ(found.cut_by, "parameters");
    EXPECT_EQ(found.boundaries, places_of(layers, stages, "parameters", has_sample).boundaries);
  }
  EXPECT_EQ(places_of(4, 2, "auto", false).boundaries, (part_boundaries{0, 3, 4}));
}

TEST(automatic_partition, leaves_other_methods_alone) {
  for (const char* method : {"uniform", "parameters", "type:layer", "0,3,4"}) {
    const cut_places found = places_of(4, 2, method, true);
    EXPECT_EQ(found.cut_by, method);
    EXPECT_TRUE(found.seconds.empty()) << method;
  }
  EXPECT_EQ(places_of(4, 2, "profile", true).cut_by, "profile");
  layered_model model = model_of(4);
  const auto refused = find_places(model, {.stages = 2, .partition = "profile"}, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::flags_contradict);
}

TEST(inputs, of_a_name_that_the_model_does_not_know_are_an_error_that_names_the_optional_ones) {
  const auto scaled = scripted("Scaled",
                               "def forward(self, x, mask: Optional[Tensor] = None):\n"
                               "  return x if mask is None else x * mask\n");
  layered_model model(make_model(scaled, "model")->graph(), layer_unit::modules);
  const auto inputs_named = [&](const std::string& name) {
    const payload_ptr data = to_payload(named_tensors{{"x", at::ones({2, 3})}, {name, at::ones({2, 3})}});
    model.bind(names_of_inputs(data));
    return model.inputs_from(data);
  };
  EXPECT_TRUE(inputs_named("mask"));
  const auto refused = inputs_named("maks");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().cause, ::testing::EndsWith("it can also take \"mask\""));
}

TEST(cut_cost, moves_a_cut_to_where_fewer_bytes_cross) {
  const auto wide = scripted("Layer",
                             "def forward(self, x):\n"
                             "  y = torch.ones([200, 200])\n"
                             "  y = torch.mm(torch.mm(torch.mm(y, y), y), y)\n"
                             "  return torch.cat([x] * 100, 1) + y[:1, :1]\n");
  const auto narrow = scripted("Layer", "def forward(self, x):\n  return x[:, :1] + 1\n");
  children parts = {{"wide", wide}, {"narrow", narrow}, {"same", narrow}, {"last", narrow}};
  layered_model model(make_model(sequential("Net", parts), "model")->graph(), layer_unit::modules);
  const auto cut = [&](double seconds_per_byte) {
    const cut_request request{.stages = 2,
                              .optimize = optimize_mode::none,
                              .partition = "profile",
                              .cut_cost_seconds_per_byte = seconds_per_byte};
    return find_places(model, request, sample_if(true))->boundaries;
  };
  EXPECT_EQ(cut(cut_cost::in_process), (part_boundaries{0, 1, 4})) << "all time is spent in the first layer";
  EXPECT_GT(cut(1).at(1), 1U) << "2400 bytes before the second layer, 8 behind it";
}

TEST(cut_cost, is_that_of_the_edges) {
  worker_options workers;
  EXPECT_EQ(cut_cost_of(workers, true), cut_cost::in_process);
  workers.enabled = true;
  EXPECT_EQ(cut_cost_of(workers), cut_cost::shm);
  EXPECT_EQ(cut_cost_of(workers, true), cut_cost::tcp);
  workers.transport = transport_kind::tcp;
  EXPECT_EQ(cut_cost_of(workers), cut_cost::tcp);
}

}  // namespace
}  // namespace troupe::testing
