// Goal: eval_batch does what it says for every combination of its parameters, and each fault of DeepSpeed's that we
// name stays away. Method: LeNet on real digits against a plain LibTorch loop, bit for bit (optimize = none).
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "tests/program/support/plain_loop.hpp"
#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>
#include <troupe/pipeline_engine.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<at::Tensor> nll(const at::Tensor& outputs, const at::Tensor& labels) {
  return {at::nll_loss(outputs, labels)};
}

std::filesystem::path lenet() {
  return data_dir() / "mnist/lenet.pt";
}

data_set_ptr digits() {
  static const data_set_ptr data = open_data("mnist:" + (data_dir() / "mnist").string()).value();
  return data;
}

std::unique_ptr<pipeline_engine> make_engine(pipeline_engine_options options = {}, loss_function loss = nll) {
  options.optimize = optimize_mode::none;
  options.run.threads = 1;
  auto engine = pipeline_engine::create(lenet().string(), options, std::move(loss));
  if (!engine) throw std::runtime_error(to_string(engine.error()));
  return std::move(*engine);
}

/// What a call over `batches` must give.
struct reference {
  std::vector<double> losses;
  std::vector<at::Tensor> outputs;

  explicit reference(const std::vector<batch>& batches) {
    at::set_num_threads(1);
    plain_loop plain{lenet()};
    for (const batch& each : batches) {
      outputs.push_back(plain.forward(each.inputs.only()).clone());
      losses.push_back(nll(outputs.back(), each.labels.only())[0].item<double>());
    }
  }
  [[nodiscard]] double mean_loss() const {
    double sum = 0;
    for (const double each : losses) sum += each;
    return sum / static_cast<double>(losses.size());
  }
};

bool same_bits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) { return at::equal(x, y); });
}

TEST(eval_batch, names_the_injected_fault_before_the_end_of_a_call) {
  pipeline_engine_options options;
  options.run.faults.add("slow:stage=stage.0,at=mb0,ms=1");
  const auto engine = make_engine(options, [](const at::Tensor&, const at::Tensor&) -> std::vector<at::Tensor> {
    throw std::runtime_error("no loss today");
  });
  const auto ended = engine->eval_batch(batch_list{batches_of(*digits(), 20, 20)});
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().cause, ::testing::StartsWith("after the injected fault slow:stage=stage.0,at=mb0,ms=1: "));
  EXPECT_THAT(ended.error().fix, HasSubstr("out of the plan"));
}

TEST(eval_batch, takes_the_label_that_is_chosen_among_several) {
  pipeline_engine_options options;
  options.stages = 2;
  options.num_micro_batches = 3;
  options.score.label = "right";
  const auto engine = make_engine(options);
  const auto plain = batches_of(*digits(), 20, 60);
  std::vector<batch> several;
  for (const batch& each : plain) {
    const at::Tensor& labels = each.labels.only();
    several.push_back({{{"x", each.inputs.only()}}, {{"other", labels * 0}, {"right", labels}}});
  }
  EXPECT_EQ(get(engine->eval_batch(batch_list{several})).loss, std::vector<double>{reference(plain).mean_loss()});
  const auto one = engine->eval_batch(batch_list{plain});
  ASSERT_FALSE(one);
  EXPECT_THAT(to_string(one.error()), AllOf(HasSubstr("E0603"), HasSubstr("no tensor \"right\" among the labels")));
}

TEST(eval_batch, every_combination_of_its_six_parameters_equals_a_plain_loop) {
  pipeline_engine_options options;
  options.stages = 3;
  options.replicas = 2;
  options.num_micro_batches = 4;
  const auto engine = make_engine(options);
  const auto all = batches_of(*digits(), 20, 100);  // five of them
  for (unsigned bits = 0; bits < 32; ++bits) {
    SCOPED_TRACE(bits);
    const bool own_iterator = (bits & 1) != 0;
    const eval_batch_options call{
        .return_logits = (bits & 2) != 0,
        .compute_loss = (bits & 4) != 0,
        .reduce_output = (bits & 8) != 0 ? reduction::avg : reduction::none,
        .num_micro_batches = (bits & 16) != 0 ? std::optional<std::uint64_t>{3} : std::nullopt};
    const std::size_t count = call.num_micro_batches.value_or(4);
    const reference expected_values{{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}};

    const batch_list source{all};
    engine->set_dataiterator(own_iterator ? data_iterator{} : data_iterator{source});
    const auto output = engine->eval_batch(own_iterator ? data_iterator{source} : data_iterator{}, call);
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_EQ(*source.taken, count) << "nothing is pulled beyond the call";
    EXPECT_EQ(output->micro_batches, count);
    EXPECT_EQ(output->samples, count * 20);
    EXPECT_FALSE(output->exhausted);

    const bool mean = call.reduce_output == reduction::avg;
    EXPECT_EQ(output->loss.size(), call.compute_loss && mean ? 1 : 0);
    EXPECT_EQ(output->losses.size(), call.compute_loss && !mean ? count : 0);
    if (call.compute_loss && mean) {
      EXPECT_EQ(output->loss[0], expected_values.mean_loss());
    }
    for (std::size_t index = 0; index < output->losses.size(); ++index) {
      EXPECT_EQ(output->losses[index], std::vector<double>{expected_values.losses[index]});
    }
    if (call.compute_loss) {
      EXPECT_TRUE(output->outputs.empty());
    } else if (mean) {
      at::Tensor sum = at::zeros_like(expected_values.outputs[0]);
      for (const at::Tensor& each : expected_values.outputs) sum += each;
      ASSERT_EQ(output->outputs.size(), 1);
      EXPECT_TRUE(at::allclose(output->outputs[0], sum / static_cast<double>(count), 1e-6, 1e-7));
    } else {
      EXPECT_TRUE(same_bits(output->outputs, expected_values.outputs));
    }
    if (call.return_logits) {
      EXPECT_TRUE(same_bits(output->logits, expected_values.outputs));
    } else {
      EXPECT_TRUE(output->logits.empty());
    }
  }
}

TEST(eval_batch, data_that_runs_out_ends_the_call_with_what_there_was) {
  const auto engine = make_engine({.num_micro_batches = 10});
  const auto batches = batches_of(*digits(), 8, 24);
  const auto output = engine->eval_batch(batch_list{batches});
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->exhausted);
  EXPECT_EQ(output->micro_batches, 3);
  EXPECT_EQ(output->loss[0], reference{batches}.mean_loss());

  const auto nothing = engine->eval_batch(batch_list{});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->exhausted);
  EXPECT_TRUE(nothing->loss.empty());
  EXPECT_EQ(nothing->micro_batches, 0);
}

TEST(eval_batch, an_exception_of_the_iterator_the_loss_or_a_stage_fails_its_call_alone) {
  loss_function loss = [](const at::Tensor& outputs, const at::Tensor& labels) {
    if (labels.eq(99).any().item<bool>()) throw std::runtime_error("a label of 99");
    return nll(outputs, labels);
  };
  const auto engine = make_engine({.stages = 2, .num_micro_batches = 3}, loss);
  const auto good = batches_of(*digits(), 16, 48);
  const double mean = reference{good}.mean_loss();

  unsigned pulled = 0;
  const auto thrown = engine->eval_batch([&]() -> std::optional<batch> {
    if (pulled == 2) throw std::runtime_error("the disk is on fire");
    return good[pulled++];
  });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, error_code::source_failed);
  EXPECT_THAT(thrown.error().cause, ::testing::HasSubstr("the disk is on fire"));
  EXPECT_THAT(thrown.error().where, ::testing::HasSubstr("micro-batch 2"));
  EXPECT_EQ(engine->eval_batch(batch_list{good})->loss[0], mean);

  auto bad_label = good;
  bad_label[1].labels = at::full({16}, 99, at::kLong);
  const auto bad_loss = engine->eval_batch(batch_list{bad_label});
  ASSERT_FALSE(bad_loss);
  EXPECT_EQ(bad_loss.error().code, error_code::metric_failed);
  EXPECT_THAT(bad_loss.error().cause, ::testing::HasSubstr("a label of 99"));
  EXPECT_EQ(engine->eval_batch(batch_list{good})->loss[0], mean);

  auto bad_shape = good;
  bad_shape[2].inputs = at::zeros({16, 3, 28, 28});
  const auto bad_forward = engine->eval_batch(batch_list{bad_shape});
  ASSERT_FALSE(bad_forward);
  EXPECT_EQ(bad_forward.error().code, error_code::forward_failed);
  EXPECT_THAT(bad_forward.error().where,
              ::testing::AllOf(::testing::HasSubstr("layer 2 (2 Conv2d)"), ::testing::HasSubstr("micro-batch 2"),
                               ::testing::HasSubstr("samples 32 to 47")));
  EXPECT_EQ(engine->eval_batch(batch_list{good})->loss[0], mean);
}

TEST(eval_batch, tuple_losses_are_averaged_part_by_part) {
  loss_function pair = [](const at::Tensor& outputs, const at::Tensor& labels) {
    return std::vector<at::Tensor>{at::nll_loss(outputs, labels), outputs.mean()};
  };
  const auto engine = make_engine({.stages = 2, .num_micro_batches = 2}, pair);
  const auto batches = batches_of(*digits(), 10, 20);
  const reference plain{batches};
  const auto output = engine->eval_batch(batch_list{batches});
  ASSERT_TRUE(output);
  ASSERT_EQ(output->loss.size(), 2);
  EXPECT_EQ(output->loss[0], plain.mean_loss());
  const double second = (plain.outputs[0].mean().item<double>() + plain.outputs[1].mean().item<double>()) / 2;
  EXPECT_EQ(output->loss[1], second);
}

TEST(eval_batch, an_uneven_last_micro_batch_is_evaluated_as_it_is) {
  const auto engine = make_engine({.num_micro_batches = 3});
  const auto batches = batches_of(*digits(), 16, 40);  // 16, 16, 8
  const reference plain{batches};
  const auto loss = engine->eval_batch(batch_list{batches});
  EXPECT_EQ(loss->loss[0], plain.mean_loss());
  EXPECT_EQ(loss->samples, 40);
  const auto outputs =
      engine->eval_batch(batch_list{batches}, {.compute_loss = false, .reduce_output = reduction::none});
  EXPECT_TRUE(same_bits(outputs->outputs, plain.outputs));
  const auto mean = engine->eval_batch(batch_list{batches}, {.compute_loss = false, .reduce_output = reduction::avg});
  ASSERT_FALSE(mean) << "there is no element-wise mean of uneven outputs";
  EXPECT_EQ(mean.error().code, error_code::metric_failed);
}

TEST(eval_batch, queued_calls_overlap_and_keep_their_results_apart) {
  const auto engine = make_engine({.stages = 3, .replicas = 2, .num_micro_batches = 4});
  const auto all = batches_of(*digits(), 8, 8 * 40);
  std::vector<eval_future> futures;
  for (std::size_t call = 0; call < 10; ++call) {
    futures.push_back(engine->eval_batch_async(batch_list{{all.begin() + static_cast<std::ptrdiff_t>(call * 4),
                                                           all.begin() + static_cast<std::ptrdiff_t>(call * 4 + 4)}}));
  }
  for (std::size_t call = 0; call < 10; ++call) {
    const reference plain{
        {all.begin() + static_cast<std::ptrdiff_t>(call * 4), all.begin() + static_cast<std::ptrdiff_t>(call * 4 + 4)}};
    const auto output = futures[call].get();
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_EQ(output->loss[0], plain.mean_loss());
  }
}

TEST(eval_batch, evaluation_between_other_calls_and_set_batch_fn) {
  const auto engine = make_engine({.stages = 2, .num_micro_batches = 2});
  const auto batches = batches_of(*digits(), 10, 20);
  const double mean = reference{batches}.mean_loss();
  const batch_list standing{batches_of(*digits(), 10, 40)};
  engine->set_dataiterator(standing);
  EXPECT_EQ(engine->eval_batch()->loss[0], mean);
  const auto whole = engine->evaluate(digits(), 500, {"accuracy", "nll"});
  ASSERT_TRUE(whole) << to_string(whole.error());
  EXPECT_EQ(whole->metrics[0].fields[1].counts, std::vector<std::uint64_t>{9904});
  EXPECT_EQ(whole->delivery.lost, 0);
  EXPECT_EQ(*standing.taken, 2) << "evaluate took nothing from the engine's iterator";
  auto darker = batches;
  for (batch& each : darker) each.inputs = each.inputs.only() * 0.5;
  engine->set_batch_fn([](batch each) { return batch{each.inputs.only() * 0.5, each.labels}; });
  EXPECT_EQ(engine->eval_batch(batch_list{batches})->loss[0], reference{darker}.mean_loss());
}

TEST(eval_batch, wrong_use_is_an_error_that_says_what_to_do) {
  const auto engine = make_engine({}, {});
  const auto batches = batches_of(*digits(), 4, 4);
  EXPECT_EQ(engine->eval_batch().error().code, error_code::source_failed);
  EXPECT_EQ(engine->eval_batch(batch_list{batches}).error().code, error_code::metric_failed) << "no loss function";
  EXPECT_EQ(engine->eval_batch(batch_list{batches}, {.num_micro_batches = 0}).error().code,
            error_code::value_out_of_range);
  EXPECT_TRUE(engine->eval_batch(batch_list{batches}, {.compute_loss = false}));
  EXPECT_EQ(engine->num_stages(), 1);
  const auto too_many = pipeline_engine::create(lenet().string(), {.stages = 16}, {});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, error_code::more_stages_than_layers);
  EXPECT_EQ(pipeline_engine::create("no/such/model.pt", {}, {}).error().code, error_code::model_missing);
}

TEST(pipeline_engine, options_of_its_calls_are_checked_before_anything_starts) {
  const auto told = [](const pipeline_engine_options& options) {
    const auto made = pipeline_engine::create(lenet().string(), options, nll);
    return made ? "nothing" : to_string(made.error());
  };
  EXPECT_THAT(told({.num_micro_batches = 0}), HasSubstr("E0103: num_micro_batches: it is 0"));
  EXPECT_THAT(told({.call_timeout = std::chrono::seconds{0}}), HasSubstr("E0103: call_timeout: it is not positive"));
  EXPECT_THAT(told({.call_timeout = std::chrono::nanoseconds::max()}), HasSubstr("E0103: call_timeout: it is more"));
  EXPECT_THAT(told({.metrics = {"acuracy"}}), HasSubstr("E0102: metric acuracy"));
  EXPECT_THAT(told({.sinks = {{"other", {"acuracy"}}}}), HasSubstr("E0102: metric acuracy"));
  EXPECT_THAT(told({.partition = "profile"}), HasSubstr("E0104: partition"));
}

TEST(evaluation_by_an_engine, tells_the_progress_of_one_call_with_other_metrics) {
  const auto engine = make_engine({.stages = 2});
  std::atomic<std::uint64_t> done{0};
  const auto result = engine->evaluate(digits(), 500, {"accuracy"},
                                       {.on_progress = [&](const progress_update& now) { done = now.samples_done; }});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_GT(result->samples, 0U);
  EXPECT_EQ(done, result->samples) << "the last state is told";
}

/// An engine starts without data, so no try-out has seen it.
TEST(evaluation_by_an_engine, tells_a_metric_that_does_not_fit) {
  const auto engine = make_engine({.stages = 2});
  const auto told = [&](const std::string& metric) {
    const auto result = engine->evaluate(digits(), 64, {metric});
    return result ? "nothing" : to_string(result.error());
  };
  EXPECT_THAT(told("top99"), HasSubstr("E0108"));
  EXPECT_THAT(told("mae"), HasSubstr("E0108"));
  EXPECT_EQ(told("nll"), "nothing") << "the engine goes on, and its outputs are log-probabilities";
  const auto of_logits = pipeline_engine::create((data_dir() / "cifar10/resnet20.pt").string(),
                                                 {.run = {.micro_batch = 8, .limit = 16}, .metrics = {"nll"}}, {});
  ASSERT_TRUE(of_logits) << to_string(of_logits.error());
  const auto result = (*of_logits)->evaluate("cifar10:" + (data_dir() / "cifar10/test_batch_1000.bin").string());
  ASSERT_FALSE(result) << "it would say a mean of " << (*result)["nll"].value();
  EXPECT_THAT(to_string(result.error()), AllOf(HasSubstr("E0108"), HasSubstr("first micro-batch, metric nll")));
}

TEST(eval_batch, a_call_that_takes_too_long_fails_and_the_engine_goes_on) {
  std::atomic<bool> blocked{true};
  const auto batches = batches_of(*digits(), 4, 4);
  const auto engine = make_engine({.num_micro_batches = 1, .call_timeout = std::chrono::milliseconds{50}});
  const auto late = engine->eval_batch([&]() -> std::optional<batch> {
    blocked.wait(true);
    return batches[0];
  });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::deadline_passed);
  blocked = false;
  blocked.notify_all();
  // What comes next waits behind it no longer than any call.
  expected<eval_output> next = engine->eval_batch(batch_list{batches});
  for (int tries = 0; !next && tries < 100; ++tries) next = engine->eval_batch(batch_list{batches});
  EXPECT_TRUE(next) << to_string(next.error());
}

TEST(eval_batch, a_call_past_the_deadline_names_that_and_not_another_limit) {
  pipeline_engine_options options;
  options.run.deadline = std::chrono::milliseconds{1};
  std::atomic<bool> blocked{true};
  const auto batches = batches_of(*digits(), 20, 20);
  const auto engine = make_engine(options);  // its end waits for the iterator
  const auto late = engine->eval_batch([&]() -> std::optional<batch> {
    blocked.wait(true);
    return batches[0];
  });
  blocked = false;
  blocked.notify_all();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::deadline_passed);
  EXPECT_THAT(to_string(late.error()),
              ::testing::AllOf(HasSubstr("longer than run.deadline"), HasSubstr("raise run.deadline")));
}

TEST(eval_batch, a_call_that_was_stopped_says_so_and_the_engine_goes_on) {
  const auto batches = batches_of(*digits(), 20, 20);
  std::uint64_t given = 0;
  const auto engine = make_engine({.num_micro_batches = 1000});
  const auto stopped = engine->eval_batch([&]() -> std::optional<batch> {
    if (++given == 5) engine->request_stop(stop_kind::drain);
    return batches.front();
  });
  ASSERT_TRUE(stopped) << to_string(stopped.error());
  EXPECT_TRUE(stopped->stopped);
  EXPECT_FALSE(stopped->exhausted);
  EXPECT_LT(stopped->micro_batches, 1000u);
  const auto whole = engine->eval_batch(batch_list{batches});
  ASSERT_TRUE(whole) << to_string(whole.error());
  EXPECT_TRUE(whole->exhausted);
  EXPECT_FALSE(whole->stopped);
}

TEST(eval_batch, an_evaluation_behind_a_call_that_never_ends_fails_at_its_time_out) {
  std::atomic<bool> blocked{true};
  const auto batches = batches_of(*digits(), 4, 4);
  const auto engine = make_engine({.num_micro_batches = 1, .call_timeout = std::chrono::milliseconds{50}});
  const auto first = engine->eval_batch_async([&]() -> std::optional<batch> {
    blocked.wait(true);
    return batches[0];
  });
  const auto late = engine->evaluate(digits(), 4, {"accuracy"});
  blocked = false;
  blocked.notify_all();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::deadline_passed);
}

}  // namespace
}  // namespace troupe::testing
