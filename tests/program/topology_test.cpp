// Goal: the builder's forms of stages, its settings and its errors. Method: small tensors through small graphs with a
// source of known numbers; what a sink sees is recorded by a metric of the test's own.
#include <algorithm>
#include <span>

#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>

#include "program/launch/process_context.hpp"
#include "program/start/topology_start.hpp"
#include "tests/program/support/numbers.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/model.hpp>
#include <troupe/topology.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

at::Tensor twice(const at::Tensor& x) {
  return at::mul(x, 2);
}

/// source -> (what) -> sink; the sum over everything that arrives.
double sum_through(const stage_recipe& what, const stage_options& options = {}, std::uint64_t micro_batch = 3) {
  const auto total = std::make_shared<sum_of_outputs>();
  const auto result =
      run(topology{}.source("numbers", numbers(10)).stage("under test", what, options).sink("sum", {total}),
          {.micro_batch = micro_batch, .threads = 1});
  EXPECT_TRUE(result) << to_string(result.error());
  return result ? result->metrics.at(0).fields.at(0).reals.at(0) : 0;
}

error error_of(const topology& what, const run_options& options = {.micro_batch = 3, .threads = 1}) {
  const auto result = run(what, options);
  EXPECT_FALSE(result);
  return result ? error{} : result.error();
}

/// Rows 0, 1, ... 9, two numbers each: row, 10 x row. Their sum is 11 x 45.
constexpr double all_numbers = 11 * 45;

TEST(stage_recipe, callables_of_every_form) {
  EXPECT_EQ(sum_through(twice), 2 * all_numbers);
  EXPECT_EQ(sum_through([](const named_tensors& in) -> named_tensors { return at::mul(in.only(), 3); }),
            3 * all_numbers);
  EXPECT_EQ(sum_through([](const at::Tensor& x, const micro_batch_info& which) {
              return at::mul(x, static_cast<double>(which.id.index + 1));
            }),
            11.0 * ((0 + 1 + 2) + 2 * (3 + 4 + 5) + 3 * (6 + 7 + 8) + 4 * 9));
  EXPECT_EQ(sum_through([](const named_tensors& in, const micro_batch_info& which) -> named_tensors {
              return at::add(in.only(), static_cast<double>(which.samples.begin));
            }),
            all_numbers + 2.0 * (3 * 0 + 3 * 3 + 3 * 6 + 1 * 9));
}

TEST(stage_recipe, modules_of_torch_nn_and_torchscript) {
  torch::nn::Linear layer(2, 1);
  torch::NoGradGuard no_grad;
  layer->weight.fill_(1);
  layer->bias.fill_(0.5);
  layer->eval();
  EXPECT_EQ(sum_through(nn_module(layer)), all_numbers + 10 * 0.5);

  torch::jit::Module both("both");
  both.define("def forward(self, x):\n  return {'sum': x.sum(1, keepdim=True), 'product': x.prod(1, keepdim=True)}\n");
  const auto total = std::make_shared<sum_of_outputs>();
  const auto result = run(topology{}
                              .source("numbers", numbers(10))
                              .stage("both", both)
                              .sink("product", {total}, {.tensor = "product"})
                              .sink("sum", {total}, {.tensor = "sum"}),
                          {.micro_batch = 4, .threads = 1});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->sinks.at(0).metrics.at(0).fields.at(0).reals.at(0), 10.0 * 285);
  EXPECT_EQ(result->sinks.at(1).metrics.at(0).fields.at(0).reals.at(0), all_numbers);
}

class counting_stage final : public stage_function {
 public:
  counting_stage(std::atomic<int>& starts, bool writes) : starts_(starts), writes_(writes) {}
  void start(const stage_context& context) override {
    ++starts_;
    EXPECT_EQ(context.name, "under test");
    EXPECT_LT(context.replica, context.replicas);
  }
  [[nodiscard]] named_tensors run(const named_tensors& inputs, const micro_batch_info&) override {
    at::Tensor mine = inputs.only();
    return writes_ ? mine.add_(1) : at::add(mine, 1);
  }
  [[nodiscard]] bool may_write_input() const noexcept override { return writes_; }

 private:
  std::atomic<int>& starts_;
  bool writes_;
};

TEST(stage_recipe, factories_make_one_object_per_replica_and_one_to_try) {
  std::atomic<int> made = 0;
  std::atomic<int> started = 0;
  const stage_factory factory = [&](const stage_context&) {
    ++made;
    return std::make_shared<counting_stage>(started, false);
  };
  EXPECT_EQ(sum_through(factory, {.replicas = 3}), all_numbers + 20);
  EXPECT_EQ(made, 4);
  EXPECT_EQ(started, 4);
}

TEST(stage_recipe, a_stage_that_writes_its_input_writes_a_copy) {
  std::atomic<int> started = 0;
  const auto writer = std::make_shared<counting_stage>(started, true);
  const auto total = std::make_shared<sum_of_outputs>();
  const auto result = run(topology{}
                              .source("numbers", numbers(10))
                              .stage("under test", writer)
                              .stage("beside", twice)
                              .sink("written", {total})
                              .sink("read", {total})
                              .edge("numbers", "under test")
                              .edge("numbers", "beside")
                              .edge("under test", "written")
                              .edge("beside", "read"),
                          {.micro_batch = 2, .threads = 1});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->sinks.at(0).metrics.at(0).fields.at(0).reals.at(0), all_numbers + 20);
  EXPECT_EQ(result->sinks.at(1).metrics.at(0).fields.at(0).reals.at(0), 2 * all_numbers);
}

TEST(stage_options, threads_and_dtype_reach_the_stage) {
  const auto look = [](const at::Tensor& x) {
    EXPECT_EQ(at::get_num_threads(), 2);
    EXPECT_EQ(x.scalar_type(), at::kBFloat16);
    return x.to(at::kFloat);
  };
  EXPECT_EQ(sum_through(look, {.threads = 2, .dtype = at::kBFloat16}), all_numbers);  // small integers fit bfloat16
}

TEST(stage_options, several_outputs_go_to_the_ports_of_their_names) {
  const auto split = [](const named_tensors& in) -> named_tensors {
    return {{"rows", in.only().select(1, 0).unsqueeze(1)}, {"tens", in.only().select(1, 1).unsqueeze(1)}};
  };
  const auto total = std::make_shared<sum_of_outputs>();
  const auto result = run(topology{}
                              .source("numbers", numbers(10))
                              .stage("split", split, {.outputs = {"tens", "rows"}})
                              .sink("tens", {total})
                              .sink("rows", {total})
                              .edge("numbers", "split")
                              .edge("split.rows", "rows")
                              .edge("split.tens", "tens"),
                          {.micro_batch = 4, .threads = 1});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->sinks.at(0).metrics.at(0).fields.at(0).reals.at(0), 450);
  EXPECT_EQ(result->sinks.at(1).metrics.at(0).fields.at(0).reals.at(0), 45);
}

TEST(shapes, may_change_from_one_micro_batch_to_the_next) {
  const auto widen = [](const at::Tensor& x, const micro_batch_info& which) {
    return x.repeat({1, static_cast<std::int64_t>(which.id.index) + 1});
  };
  EXPECT_EQ(sum_through(widen), 11.0 * ((0 + 1 + 2) + 2 * (3 + 4 + 5) + 3 * (6 + 7 + 8) + 4 * 9));
}

/// Notes where its input lies, or its output.
class address_notes final : public stage_function {
 public:
  address_notes(std::vector<const void*>& notes, bool makes) : notes_(notes), makes_(makes) {}
  [[nodiscard]] named_tensors run(const named_tensors& inputs, const micro_batch_info&) override {
    at::Tensor made = makes_ ? at::add(inputs.only(), 1) : at::zeros({});
    notes_.push_back(makes_ ? made.const_data_ptr() : inputs.only().const_data_ptr());
    return made;
  }
  [[nodiscard]] bool may_write_input() const noexcept override { return false; }

 private:
  std::vector<const void*>& notes_;
  bool makes_;
};

TEST(hop, hands_a_tensor_over_without_a_copy) {
  std::vector<const void*> made;
  std::vector<const void*> received;
  const auto result = run(topology{}
                              .source("numbers", numbers(10))
                              .stage("makes", std::make_shared<address_notes>(made, true))
                              .stage("takes", std::make_shared<address_notes>(received, false))
                              .stage("again",
                                     [](const at::Tensor&) {
                                       return at::ones({1, 1});
                                     })
                              .sink("s", {}),
                          {.micro_batch = 1, .threads = 1});
  ASSERT_TRUE(result) << to_string(result.error());
  ASSERT_EQ(made.size(), 12u);  // two of them before the start
  ASSERT_EQ(received.size(), 12u);
  EXPECT_TRUE(std::ranges::equal(std::span(made).last(10), std::span(received).last(10)));
}

TEST(topology, mistakes_of_the_builder_are_named) {
  const auto good = [] { return topology{}.source("numbers", numbers(10)).stage("a", twice); };
  EXPECT_THAT(to_string(error_of(good())), HasSubstr("there is no sink"));
  EXPECT_THAT(to_string(error_of(good().stage("b.c", twice).sink("s", {}))), HasSubstr("a name with a dot"));
  EXPECT_THAT(to_string(error_of(good().replicate("nobody", 2).sink("s", {}))), HasSubstr("no node 'nobody'"));
  const error no_gpu = error_of(good().stage("g", twice, {.device = "cuda:0"}).sink("s", {}));
  EXPECT_EQ(no_gpu.code, error_code::device_unavailable);
  EXPECT_EQ(no_gpu.where, "stage 'g', device cuda:0");
  EXPECT_FALSE(no_gpu.cause.empty() || no_gpu.fix.empty());
  EXPECT_EQ(error_of(good().stage("g", twice, {.device = "gpu"}).sink("s", {})).code, error_code::value_out_of_range);
  EXPECT_THAT(to_string(error_of(good().stage("g", twice, {.dtype = at::kLong}).sink("s", {}))), HasSubstr("Long"));
  EXPECT_THAT(to_string(error_of(good().stage("g", twice, {.threads = 0}).sink("s", {}))), HasSubstr("0 threads"));
  EXPECT_THAT(to_string(error_of(good().route("r", {{"x"}, {"y"}}).sink("s", {}))), HasSubstr("two cases without"));
  EXPECT_THAT(to_string(error_of(good().sink("s", {"acuracy"}))), HasSubstr("accuracy"));
  EXPECT_THAT(to_string(error_of(good().pipeline("p", model(nullptr), {.allow_effects = true}).sink("s", {}))),
              HasSubstr("E0104: pipeline 'p', allow_effects: it is for models that come from a file"));
  EXPECT_EQ(error_of(good().sink("s", {}), {.micro_batch = 0}).code, error_code::value_out_of_range);
  EXPECT_THAT(to_string(error_of(good().sink("s", {}), {.workers = {.timeout = std::chrono::milliseconds{0}}})),
              HasSubstr("worker_timeout: 0"));
  EXPECT_THAT(to_string(error_of(good().sink("s", {}), {.deadline = std::chrono::milliseconds{0}})),
              HasSubstr("deadline: 0, expected"));
  EXPECT_THAT(to_string(error_of(good().sink("s", {}), {.limit = 0})), HasSubstr("limit: 0, expected a whole number"));
  EXPECT_EQ(error_of(topology{}.source("n", numbers(0)).stage("a", twice).sink("s", {})).code, error_code::data_empty);
  EXPECT_EQ(error_of(topology{}.source("n", "mnist:/nowhere").stage("a", twice).sink("s", {})).code,
            error_code::data_missing);
  const auto some = [](const named_tensors& in) { return at::gt(in.only().select(1, 0), 3); };
  EXPECT_EQ(error_of(good().route("r", {{"x", some}, {"y", some}}).sink("s", {})).code,
            error_code::topology_route_incomplete);
}

TEST(topology, a_stage_that_cannot_take_the_first_micro_batch_is_found_before_the_start) {
  const auto with = [](const stage_recipe& what) {
    return topology{}.source("numbers", numbers(10)).stage("bad", what).sink("s", {});
  };
  const auto throws = [](const at::Tensor&) -> at::Tensor { throw std::runtime_error("not today"); };
  EXPECT_THAT(to_string(error_of(with(throws))), HasSubstr("bad: not today"));
  EXPECT_THAT(to_string(error_of(with([](const at::Tensor& x) {
                return at::matmul(x, at::ones({3, 3}));
              }))),
              HasSubstr("E0602"));
  EXPECT_THAT(to_string(error_of(with([](const at::Tensor&) { return at::Tensor{}; }))), HasSubstr("undefined tensor"));
  EXPECT_THAT(to_string(error_of(with([](const named_tensors&) { return named_tensors{}; }))), HasSubstr("no tensor"));
  EXPECT_THAT(to_string(error_of(with(stage_factory([](const stage_context&) { return nullptr; })))),
              HasSubstr("returned nothing"));
  EXPECT_THAT(to_string(error_of(with(torchscript_file("/nowhere.pt")))), HasSubstr("/nowhere.pt"));
}

TEST(topology, a_forward_that_fails_later_names_stage_micro_batch_and_samples) {
  const auto fails_late = [](const at::Tensor& x, const micro_batch_info& which) -> at::Tensor {
    if (which.id.index == 2) throw std::runtime_error("cannot");
    return x;
  };
  const error found = error_of(topology{}.source("numbers", numbers(10)).stage("late", fails_late).sink("s", {}));
  EXPECT_EQ(found.code, error_code::forward_failed);
  EXPECT_THAT(to_string(found), HasSubstr("late, call 0, micro-batch 2, samples 6 to 8: cannot"));
}

TEST(topology, branches_of_a_route_cannot_meet_in_a_stage_nor_whole_ones_in_a_join) {
  const auto small = [](const named_tensors& in) { return at::lt(in.only().select(1, 0), 4); };
  const auto add = [](const named_tensors& in) -> named_tensors { return at::add(in.at("a"), in.at("b")); };
  auto what = topology{}
                  .source("numbers", numbers(10))
                  .route("r", {{"small", small}, {"large"}})
                  .stage("meet", add, {.inputs = {"a", "b"}})
                  .sink("s", {})
                  .edge("numbers", "r")
                  .edge("r.small", "meet.a")
                  .edge("r.large", "meet.b")
                  .edge("meet", "s");
  EXPECT_THAT(to_string(error_of(what, {.micro_batch = 10})), HasSubstr("hold different samples"));
  auto twice_joined = topology{}
                          .source("numbers", numbers(10))
                          .stage("a", twice)
                          .stage("b", twice)
                          .join("all", {"a", "b"})
                          .sink("s", {})
                          .edge("numbers", "a")
                          .edge("numbers", "b")
                          .edge("a", "all.a")
                          .edge("b", "all.b")
                          .edge("all", "s");
  EXPECT_THAT(to_string(error_of(twice_joined)), HasSubstr("hold the same sample"));
}

TEST(route, of_a_route_comes_together_again_in_sample_order) {
  const auto below = [](double limit) {
    return for_each_sample([limit](const named_tensors& sample) { return sample.only()[0].item<double>() < limit; });
  };
  const auto seen = std::make_shared<rows_seen>();
  const auto result = run(topology{}
                              .source("numbers", numbers(10))
                              .route("first", {{"few", below(3)}, {"many"}})
                              .route("second", {{"some", below(7)}, {"rest"}})
                              .join("inner", {"x", "y"})
                              .join("outer", {"x", "y"})
                              .sink("all", {seen})
                              .sink("inner seen", {})
                              .edge("numbers", "first")
                              .edge("first.few", "outer.x")
                              .edge("first.many", "second")
                              .edge("second.some", "inner.y")
                              .edge("second.rest", "inner.x")
                              .edge("inner", "outer.y")
                              .edge("outer", "all")
                              .edge("inner", "inner seen"),
                          {.micro_batch = 4, .threads = 1});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->sinks.at(0).samples, 10u);
  EXPECT_EQ(result->sinks.at(1).samples, 7u);
  const auto samples_of = [&](const std::string& name) {
    return std::ranges::find(result->stages, name, &stage_report::name)->samples;
  };
  EXPECT_EQ(samples_of("second"), 7u);
  EXPECT_EQ(samples_of("outer"), 10u) << "the samples of a join are those of all its parts";
  EXPECT_THAT(seen->rows(), ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)) << "labels travel with their samples";
}

/// Edges between the stages, by a first micro-batch of 8 samples with 64 bytes of labels.
std::uint32_t slots_between(const topology& what) {
  const process_context process;
  const auto made = start_topology(*checked_run::make(what, {}, process), {}, *numbers(8)->read({0, 8}));
  EXPECT_TRUE(made) << (made ? "" : to_string(made.error()));
  return made ? made->running->engines().depths.between_stages : 0;
}

/// 64 KiB for 8 samples.
at::Tensor wide(const at::Tensor& x) {
  return at::zeros({x.size(0), 2048});
}

TEST(edge_depths, of_a_topology_follow_what_its_edges_carry) {
  const auto huge = [](const at::Tensor& x) { return at::zeros({x.size(0), 1 << 16}); };
  const auto small_ones = topology{}.source("numbers", numbers(8)).stage("a", twice).stage("b", huge).sink("s", {});
  EXPECT_EQ(slots_between(small_ones), limits::stage_edge_slots) << "what is only scored is on no edge";
  const auto large_ones = topology{}.source("numbers", numbers(8)).stage("a", wide).stage("b", twice).sink("s", {});
  EXPECT_EQ(slots_between(large_ones), 3u) << "256 KiB hold 4 without their labels";
}

TEST(edge_depths, of_edges_with_a_number_of_their_own_say_nothing_of_the_others) {
  const auto numbered =
      topology{}
          .source("numbers", numbers(8))
          .stage("a", wide)
          .stage("b", [](const at::Tensor& x) { return x.narrow(1, 0, 1).clone(); }, {.num_pipe_buffers = 2})
          .stage("c", twice)
          .sink("s", {});
  EXPECT_EQ(slots_between(numbered), limits::stage_edge_slots);
}

TEST(edge_depths, sparse_tensors_count_as_dense_ones) {
  const auto sparse = topology{}
                          .source("numbers", numbers(8))
                          .stage("a", [](const at::Tensor& x) { return wide(x).to_sparse(); })
                          .stage("b", [](const at::Tensor& x) { return x.to_dense(); })
                          .sink("s", {});
  EXPECT_EQ(slots_between(sparse), 3u);
}

TEST(edge_depths, behind_a_route_are_those_of_whole_micro_batches) {
  for (const std::int64_t first_rows : {2, 8}) {
    const auto is_first = [first_rows](const named_tensors& in) {
      return at::lt(in.only().select(1, 0), static_cast<double>(first_rows));
    };
    const auto routed = topology{}
                            .source("numbers", numbers(8))
                            .route("route", {{"first", is_first}, {"rest"}})
                            .stage("first", wide)
                            .stage("then", twice)
                            .stage("rest", twice)
                            .sink("of first", {})
                            .sink("of rest", {})
                            .edge("numbers", "route")
                            .edge("route.first", "first")
                            .edge("first", "then")
                            .edge("then", "of first")
                            .edge("route.rest", "rest")
                            .edge("rest", "of rest");
    EXPECT_EQ(slots_between(routed), first_rows == 8 ? limits::pipe_buffers_default : 3u)
        << "8: it is not known yet how much the rest makes";
  }
}

TEST(limits, a_deadline_ends_with_a_partial_result) {
  const auto slow = [](const at::Tensor& x) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return x;
  };
  const auto result = run(topology{}.source("numbers", numbers(2000)).stage("slow", slow).sink("s", {}),
                          {.micro_batch = 1, .threads = 1, .deadline = std::chrono::milliseconds{300}});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->partial);
  ASSERT_FALSE(result->errors.empty());
  EXPECT_EQ(result->errors.front().code, error_code::deadline_passed);
}

}  // namespace
}  // namespace troupe::testing
