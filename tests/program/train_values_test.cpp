// Goal: what a training knows of its past comes back from a checkpoint, and damaged states are refused; the best of its
// evaluations, texts of losses and the hash of weights are what the pages say. Method: values made by hand, and a hash
// that Python gave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "program/train/trainer_state.hpp"
#include <troupe/trainer.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

train_state some_state() {
  train_state made{.position = {3, 4}, .losses = {0.5, 0.1}, .learning_rates = {1, 0.5}, .evaluations = {}};
  made.evaluations.push_back({.step = 2,
                              .samples = 9,
                              .metrics = {{.name = "accuracy",
                                           .fields = {real_field("value", 0.25), count_field("correct", 7)},
                                           .form = metric_form::share}}});
  return made;
}

TEST(train_states, come_back_from_a_checkpoint) {
  const train_data_order data{.samples = 10, .order = data_order::sequential, .seed = 6};
  const train_state state = some_state();
  const train_state back = get(from_client_state(to_client_state(state, data), data, "checkpoint"));
  EXPECT_EQ(back.position, state.position);
  EXPECT_EQ(back.losses, state.losses);
  EXPECT_EQ(back.learning_rates, state.learning_rates);
  ASSERT_EQ(back.evaluations.size(), 1U);
  EXPECT_EQ(back.evaluations[0].metrics[0].value(), 0.25);
  EXPECT_EQ(back.evaluations[0].metrics[0].count("correct"), 7U);
}

/// Each member gone, and each in the place of another type.
TEST(train_states, that_are_damaged_are_refused) {
  const train_data_order data{.samples = 10, .order = data_order::sequential, .seed = 6};
  const client_state whole = to_client_state(some_state(), data);
  const auto& members = std::get<client_state>(whole.at("troupe_train").value);
  const auto refuses = [&](const client_state& changed) {
    const auto read = from_client_state({{"troupe_train", changed}}, data, "checkpoint");
    return !read && read.error().code == error_code::model_unreadable;
  };
  for (const auto& [name, value] : members) {
    client_state without = members;
    without.erase(name);
    EXPECT_TRUE(refuses(without)) << name;
    client_state other = members;
    other[name] = client_value::list{client_value(true)};
    EXPECT_TRUE(refuses(other)) << name;
  }
  client_state behind_the_end = members;
  behind_the_end["sample"] = 10;
  EXPECT_TRUE(refuses(behind_the_end));
  client_state negative = members;
  negative["epoch"] = -1;
  EXPECT_TRUE(refuses(negative));
  client_state unequal = members;
  unequal["losses"] = at::zeros({3}, at::kDouble);
  EXPECT_TRUE(refuses(unequal));
  client_state in_float = members;
  in_float["losses"] = at::zeros({2});
  EXPECT_TRUE(refuses(in_float));
  EXPECT_EQ(from_client_state({}, data, "checkpoint").error().code, error_code::model_unreadable);
}

/// As a training has them that was resumed with others.
TEST(train_evaluations, with_another_metric_are_compared_with_none) {
  const auto evaluation = [](std::uint64_t step, const char* metric, double value) {
    return train_evaluation{.step = step, .metrics = {{.name = metric, .fields = {real_field("value", value)}}}};
  };
  train_result result;
  result.evaluations = {evaluation(1, "accuracy", 0.125), evaluation(2, "nll", 0.75), evaluation(3, "nll", 0.5),
                        evaluation(4, "nll", 0.625)};
  EXPECT_EQ(best_of(result.evaluations)->step, 3U);
  const std::string table = train_table(result, 100);
  EXPECT_THAT(table, HasSubstr("step  samples    nll\n"));
  EXPECT_THAT(table, HasSubstr("0.75"));
  EXPECT_THAT(table, Not(HasSubstr("0.125")));
}

TEST(training_loss_texts, have_options) {
  const auto made = get(training_loss_of("cross_entropy:ignore_index=-1:label_smoothing=0.25:class_weights=1,0.5"));
  EXPECT_EQ(made.kind, loss_kind::cross_entropy);
  EXPECT_EQ(made.ignore_index, -1);
  EXPECT_EQ(made.label_smoothing, 0.25);
  EXPECT_EQ(made.class_weights, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(get(training_loss_of("mse")).kind, loss_kind::mse);
  for (const char* bad : {"", "cross", "mse:x=1", "nll:ignore_index=a", "nll:ignore_index", "nll:class_weights=1,,2",
                          "cross_entropy:label_smoothing=nan", "nll:ignore_index=1:ignore_index=2"}) {
    EXPECT_FALSE(training_loss_of(bad)) << bad;
  }
}

/// hashlib.sha256(b"a\0" + b"\x00\x00\x80\x3f" + b"b\0" + b"\x02" + b"\0" * 7).hexdigest() in Python.
TEST(weights_sha256, is_that_of_names_and_bytes) {
  const state_dict given = {{"b", at::full({}, 2, at::kLong)}, {"a", at::ones({1})}};
  EXPECT_EQ(weights_sha256(given), "7c2cee38a231dfdef4c63e14daaca454aa76f57b2546c8c647ab7e207be78136");
  const at::Tensor turned = at::arange(6, at::kFloat).view({2, 3}).t();
  EXPECT_EQ(weights_sha256({{"w", turned}}), weights_sha256({{"w", turned.contiguous()}}));
}

}  // namespace
}  // namespace troupe::testing
