// Goal: a stage on a device computes the bits of the CPU, reads nothing before it is there, frees nothing that is still
// read, and the host never waits for the device. Method: LibTorch's extension device, whose streams run late, with the
// CPU's kernels; engines and edges of production.
#include "runtime/stage/device_body.hpp"

#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/stage_engine.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "stage_inputs.hpp"
#include "testing/late_torch/late_torch.hpp"

namespace troupe {
namespace {

struct network_body final : unary_body {
  explicit network_body(network what) : net(std::move(what)) {}
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override {
    return make_tensors(net(as_tensors(input.tensors).single()));
  }
  network net;
};

/// A small convolutional network with its weights on a device.
struct small_network {
  explicit small_network(c10::Device device)
      : filter(numbers({4, 3, 3, 3}, 1.0).to(device)),
        shift(numbers({4}, 2.0).to(device)),
        matrix(numbers({10, 4 * 4 * 4}, 3.0).to(device)) {}
  at::Tensor first(const at::Tensor& x) const {
    return at::max_pool2d(at::relu(at::conv2d(x, filter, shift, 1, 1)), 2);
  }
  at::Tensor second(const at::Tensor& x) const { return at::log_softmax(at::linear(x.flatten(1), matrix), 1); }

  at::Tensor filter, shift, matrix;
};

at::Tensor image(std::uint64_t index, std::int64_t rows = 5) {
  return numbers({rows, 3, 8, 8}, index);
}

std::unique_ptr<device_body> body_on(c10::Device device, network what, output_way way) {
  auto made = device_body::make(std::make_shared<network_body>(std::move(what)), device, {way});
  EXPECT_TRUE(made);
  return std::move(*made);
}

class device_body_test : public ::testing::Test {
 protected:
  device_body_test() { late::register_late_torch(); }
  const c10::InferenceMode inference_;
};

TEST_F(device_body_test, gives_the_bits_of_the_cpu_once_its_event_has_passed) {
  const small_network here(at::kCPU);
  const small_network there(late::late_device());
  const auto before = late::counts();
  const auto body = body_on(
      late::late_device(), [&](const at::Tensor& x) { return there.second(there.first(x)); }, output_way::leaves);
  const std::vector<activation> inputs = {micro_batch(0, image(7))};
  std::vector<activation> outputs(1);
  ASSERT_TRUE(body->run(inputs, outputs));
  const at::Tensor made = as_tensors(outputs[0].tensors).single();
  const at::Tensor expected_bits = here.second(here.first(image(7)));
  EXPECT_TRUE(made.device().is_cpu());
  EXPECT_FALSE(at::equal(made, expected_bits)) << "the device is not late";
  const auto ready = body->outputs_ready();
  int asked = 0;
  while (!ready->has_passed().value()) ++asked;
  EXPECT_GT(asked, 5);
  EXPECT_TRUE(at::equal(made, expected_bits));
  EXPECT_EQ(late::counts().synchronizations, before.synchronizations);
}

TEST_F(device_body_test, keeps_the_strides_that_kernels_choose_by) {
  const auto body = body_on(
      late::late_device(), [](const at::Tensor& x) { return x.mul(2); }, output_way::leaves);
  const at::Tensor channels_last = image(3).contiguous(at::MemoryFormat::ChannelsLast);
  const std::vector<activation> inputs = {micro_batch(0, channels_last)};
  std::vector<activation> outputs(1);
  ASSERT_TRUE(body->run(inputs, outputs));
  EXPECT_EQ(as_tensors(outputs[0].tensors).single().strides(), channels_last.strides());
}

TEST_F(device_body_test, lays_out_what_an_edge_between_devices_takes) {
  const auto laid_out = [](const network& what) {
    const auto body = body_on(late::late_device(), what, output_way::laid_out);
    const std::vector<activation> inputs = {micro_batch(0, image(3))};
    std::vector<activation> outputs(1);
    EXPECT_TRUE(body->run(inputs, outputs));
    while (!body->outputs_ready()->has_passed().value()) {
    }
    return as_tensors(outputs[0].tensors).single();
  };
  const at::Tensor part = laid_out([](const at::Tensor& x) { return x.mul(2).narrow(2, 1, 3); });
  EXPECT_EQ(part.device(), late::late_device());
  EXPECT_TRUE(part.is_contiguous());
  EXPECT_TRUE(at::equal(part.cpu(), image(3).mul(2).narrow(2, 1, 3)));
  const at::Tensor turned = laid_out([](const at::Tensor& x) { return x.mul(2).transpose(1, 2); });
  EXPECT_EQ(turned.strides(), image(3).transpose(1, 2).strides()) << "dense, so it stays as it is";
  const at::Tensor host = laid_out([](const at::Tensor& x) { return at::ones({x.size(0)}); });
  EXPECT_EQ(host.device(), late::late_device());
}

/// The two halves of the network, as stages in one process; device tensors between them.
struct two_stages {
  two_stages(c10::Device one, c10::Device other, const small_network& a, const small_network& b)
      : first(options(0, {}), body_on(
                                  one, [&a](const at::Tensor& x) { return a.first(x); }, output_way::stays)),
        second(options(1, {0}), body_on(
                                    other, [&b](const at::Tensor& x) { return b.second(x); }, output_way::leaves)) {
    edge_ends in = edges.make({.slots = 4, .producer_bell = nullptr, .consumer_bell = nullptr});
    edge_ends between = edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr});
    input = std::move(in.producer);
    first.add_inbound(std::move(in.consumer));
    first.outbound().add_edge(first.outbound().add_branch({}), std::move(between.producer));
    second.add_inbound(std::move(between.consumer));
    EXPECT_TRUE(second.command(stage_command::open_call{0, 0, {scores}}));
  }
  static stage_engine_options options(stage_index stage, std::vector<std::uint32_t> sinks) {
    stage_engine_options made{.name = "stage", .address = {stage, 0}, .num_pipe_buffers = 2};
    made.sinks = std::move(sinks);
    return made;
  }
  struct collector final : scorer {
    [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation&, score&) override {
      seen.push_back(as_tensors(outputs).single().clone());
      return {};
    }
    std::vector<at::Tensor> seen;
  };

  inproc_edge_factory edges;
  std::shared_ptr<collector> scores = std::make_shared<collector>();
  stage_engine first;
  stage_engine second;
  std::unique_ptr<edge_producer> input;
};

void expect_same_bits(c10::Device one, c10::Device other) {
  const auto before = late::counts();
  {
    const small_network here(at::kCPU);
    const small_network a(one);
    const small_network b(other);
    const auto weights = late::counts();
    two_stages stages(one, other, a, b);
    constexpr std::uint64_t count = 20;
    for (std::uint64_t index = 0, steps = 0; stages.scores->seen.size() < count && steps < 100'000; ++steps) {
      if (index < count && stages.input->credits() > 0) {
        activation next = micro_batch(index, image(index, 1 + static_cast<std::int64_t>(index % 5)));
        ASSERT_EQ(stages.input->try_send(next), send_status::sent);
        ++index;
      }
      static_cast<void>(stages.first.step());
      static_cast<void>(stages.second.step());
    }
    ASSERT_EQ(stages.scores->seen.size(), count);
    for (std::uint64_t index = 0; index < count; ++index) {
      const at::Tensor bits = here.second(here.first(image(index, 1 + static_cast<std::int64_t>(index % 5))));
      EXPECT_TRUE(at::equal(stages.scores->seen[index], bits)) << "micro-batch " << index;
    }
    EXPECT_EQ(late::counts().synchronizations, weights.synchronizations) << "a host waited for its device";
  }
  EXPECT_EQ(late::counts().bytes, before.bytes) << "of the device";
}

TEST_F(device_body_test, stages_on_one_device_hand_tensors_on_without_the_host_waiting) {
  expect_same_bits(late::late_device(), late::late_device());
}

TEST_F(device_body_test, stages_on_two_devices_do_so_too) {
  expect_same_bits(late::late_device(0), late::late_device(1));
}

TEST_F(device_body_test, a_device_that_is_not_there_is_an_error) {
  const auto made = device_body::make(nullptr, {c10::DeviceType::CUDA, 0}, {output_way::leaves});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::device_failed);
}

}  // namespace
}  // namespace troupe
