// Goal: a body that is recorded gives the bits of one that is not, whatever is in flight, and is then not called again;
// what cannot be recorded is an error in words. Method: LibTorch's extension device, whose streams run late and whose
// freed memory holds NaN, also after each launch of a graph.
#include "runtime/stage/cuda_graph_body.hpp"

#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "runtime/stage/function_body.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_graphs.hpp"
#include "stage_inputs.hpp"
#include "testing/late_torch/late_graphs.hpp"
#include "testing/late_torch/late_torch.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
class cuda_graph_body_test : public ::testing::Test {
 protected:
  cuda_graph_body_test() { late::register_late_torch(); }

  std::unique_ptr<device_body> recorded(network what, output_way way) {
    function_body_options options{.context = {.name = "stage 1", .device = device_}};
    const auto counted = [this, what = std::move(what)](const at::Tensor& x) {
      ++calls_;
      return what(x);
    };
    auto function = std::make_shared<function_body>(std::make_shared<callable_stage<decltype(counted)>>(counted, false),
                                                    std::move(options));
    auto graphs = std::make_shared<cuda_graph_body>("stage 1", std::move(function), late::make_kernel_recorder(),
                                                    std::vector{way});
    return std::move(*device_body::make(std::move(graphs), device_, {way}));
  }
  struct in_flight {
    activation output;
    std::shared_ptr<context_event> ready;
    [[nodiscard]] at::Tensor read() const {
      while (!ready->has_passed().value()) {
      }
      return as_tensors(output.tensors).single().cpu();
    }
  };
  static expected<in_flight> give(device_body& body, const activation& input) {
    std::vector<activation> outputs(1);
    return body.run({&input, 1}, outputs).map([&] { return in_flight{outputs.front(), body.outputs_ready()}; });
  }
  /// E0602 of the first micro-batch that is refused.
  static std::string refusal_of(device_body& body) {
    for (std::uint64_t index = 0; index < 5; ++index) {
      const auto given = give(body, micro_batch(index, numbers({2, 3}, 1.0)));
      if (given) continue;
      EXPECT_EQ(index, limits::graph_warm_ups);
      EXPECT_EQ(given.error().code, error_code::forward_failed);
      EXPECT_EQ(given.error().where, "stage 1");
      EXPECT_EQ(given.error().fix, "leave cuda_graphs out for this stage");
      return given.error().cause;
    }
    return "nothing was refused";
  }

  const c10::InferenceMode inference_;
  const c10::Device device_ = late::late_device();
  const at::Tensor weight_ = numbers({4, 6}, 9.0);
  const at::Tensor weight_there_ = weight_.to(device_);
  int calls_ = 0;

  static at::Tensor forward(const at::Tensor& x, const at::Tensor& weight) {
    return at::log_softmax(at::relu(at::mm(x.flatten(1), weight.t())) * 2 + 1, 1);
  }
};

TEST_F(cuda_graph_body_test, gives_the_bits_of_the_body_whatever_is_in_flight) {
  for (const output_way way : {output_way::stays, output_way::laid_out, output_way::lent, output_way::leaves}) {
    calls_ = 0;
    const auto body = recorded([this](const at::Tensor& x) { return forward(x, weight_there_); }, way);
    std::uint64_t waits = 0;
    std::vector<in_flight> given;
    constexpr std::uint64_t count = 24;
    for (std::uint64_t index = 0; index < count; ++index) {
      if (index == count / 2) waits = late::counts().synchronizations;
      // Two shapes in turn.
      auto next = give(*body, micro_batch(index, numbers({2 + static_cast<std::int64_t>(index % 2), 2, 3}, index)));
      ASSERT_TRUE(next) << to_string(next.error());
      given.push_back(std::move(*next));
    }
    EXPECT_EQ(late::counts().synchronizations, waits) << "a host waited for its device";
    EXPECT_EQ(calls_, 2 * static_cast<int>(limits::graph_warm_ups + 2)) << "it is not called again";
    static_cast<void>(given.back().read());  // all are done, and not one has been read
    for (std::uint64_t index = 0; index < count; ++index) {
      const at::Tensor input = numbers({2 + static_cast<std::int64_t>(index % 2), 2, 3}, index);
      EXPECT_TRUE(at::equal(given[index].read(), forward(input, weight_))) << "micro-batch " << index;
    }
  }
}

TEST_F(cuda_graph_body_test, keeps_strides_and_tells_shapes_apart_by_them) {
  const auto body = recorded([](const at::Tensor& x) { return (x * 2).transpose(1, 2); }, output_way::stays);
  for (std::uint64_t index = 0; index < 12; ++index) {
    at::Tensor input = numbers({2, 3, 4, 5}, index);
    if (index % 2 == 1) input = input.contiguous(at::MemoryFormat::ChannelsLast);
    const auto given = give(*body, micro_batch(index, input));
    ASSERT_TRUE(given) << to_string(given.error());
    const at::Tensor right = (input * 2).transpose(1, 2);
    EXPECT_EQ(as_tensors(given->output.tensors).single().strides(), right.strides());
    EXPECT_TRUE(at::equal(given->read(), right));
  }
  EXPECT_EQ(calls_, 2 * static_cast<int>(limits::graph_warm_ups + 2));
}

TEST_F(cuda_graph_body_test, records_so_many_shapes_and_runs_others_as_they_are) {
  const auto body = recorded([](const at::Tensor& x) { return x * 3; }, output_way::leaves);
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    for (std::int64_t rows = 1; rows <= std::int64_t{limits::graph_shapes_max} + 1; ++rows) {
      const at::Tensor input = numbers({rows, 2}, static_cast<double>(round));
      const auto given = give(*body, micro_batch(0, input));
      ASSERT_TRUE(given) << to_string(given.error());
      EXPECT_TRUE(at::equal(given->read(), input * 3));
    }
  }
  EXPECT_EQ(calls_, static_cast<int>(limits::graph_shapes_max * (limits::graph_warm_ups + 2)) + rounds);
}

TEST_F(cuda_graph_body_test, frees_what_it_took) {
  const auto before = late::counts().bytes;
  {
    const auto body = recorded([this](const at::Tensor& x) { return forward(x, weight_there_); }, output_way::stays);
    for (std::uint64_t index = 0; index < 6; ++index) {
      const auto given = give(*body, micro_batch(index, numbers({2, 6}, index)));
      ASSERT_TRUE(given);
      static_cast<void>(given->read());
    }
    EXPECT_GT(late::counts().bytes, before);
  }
  EXPECT_EQ(late::counts().bytes, before);
}

TEST_F(cuda_graph_body_test, a_forward_that_waits_for_the_device_is_refused) {
  const auto body = recorded([](const at::Tensor& x) { return x * x.sum().item().toDouble(); }, output_way::leaves);
  EXPECT_THAT(refusal_of(*body), HasSubstr("cannot be recorded as a CUDA graph: operation not permitted while"));
}

TEST_F(cuda_graph_body_test, a_forward_that_does_something_else_each_time_is_refused) {
  const auto body = recorded([this](const at::Tensor& x) { return x * calls_; }, output_way::leaves);
  EXPECT_THAT(refusal_of(*body), HasSubstr("its outputs are others when it is repeated"));
}

TEST_F(cuda_graph_body_test, a_forward_that_fails_is_told_and_not_recorded) {
  bool is_failing = true;
  const auto body = recorded(
      [&](const at::Tensor& x) {
        if (is_failing) throw std::runtime_error("a bad input");
        return x + 1;
      },
      output_way::leaves);
  for (std::uint64_t index = 0; index < 6; ++index) {
    const auto failed = give(*body, micro_batch(index, numbers({2, 3}, 1.0)));
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().cause, HasSubstr("a bad input"));
  }
  is_failing = false;
  for (std::uint64_t index = 0; index < 6; ++index) {
    const auto given = give(*body, micro_batch(index, numbers({2, 3}, 1.0)));
    ASSERT_TRUE(given) << to_string(given.error());
    EXPECT_TRUE(at::equal(given->read(), numbers({2, 3}, 1.0) + 1));
  }
}

TEST_F(cuda_graph_body_test, a_view_with_gaps_runs_as_it_is) {
  const auto body = recorded([](const at::Tensor& x) { return x + 1; }, output_way::leaves);
  const at::Tensor gaps = numbers({4, 6}, 1.0).to(device_).narrow(1, 0, 3);
  for (std::uint64_t index = 0; index < 6; ++index) {
    const auto given = give(*body, micro_batch(index, gaps));
    ASSERT_TRUE(given) << to_string(given.error());
    EXPECT_TRUE(at::equal(given->read(), numbers({4, 6}, 1.0).narrow(1, 0, 3) + 1));
  }
  EXPECT_EQ(calls_, 6);
}

TEST_F(cuda_graph_body_test, repeats_tensors_without_values) {
  const auto body = recorded([](const at::Tensor& x) { return x.narrow(1, 0, 0) * 2; }, output_way::leaves);
  for (std::uint64_t index = 0; index < 6; ++index) {
    const auto given = give(*body, micro_batch(index, numbers({2, 3}, 1.0)));
    ASSERT_TRUE(given) << to_string(given.error());
    EXPECT_EQ(given->read().sizes(), at::IntArrayRef({2, 0}));
  }
  EXPECT_EQ(calls_, static_cast<int>(limits::graph_warm_ups + 2));
}

TEST_F(cuda_graph_body_test, a_device_without_graphs_is_named) {
  const auto recorder = kernel_recorder_of(device_);
  ASSERT_FALSE(recorder);
  EXPECT_EQ(recorder.error().code, error_code::device_unavailable);
  EXPECT_EQ(recorder.error().cause, "it records no graphs");
}

}  // namespace
}  // namespace troupe
