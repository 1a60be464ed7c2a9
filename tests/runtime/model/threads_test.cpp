// Goal: the thread count of a stage holds for ATen, MKL and OpenMP. Method: kernels of all three run in a thread of its
// own while the threads of the process are counted; OpenMP keeps its workers, so they can be counted afterwards.
#include <chrono>
#include <thread>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "torchscript.hpp"

namespace troupe::testing {
namespace {

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

model heavy_model() {
  torch::jit::Module convolution("Conv2d");
  convolution.register_parameter("weight", at::randn({32, 3, 3, 3}), false);
  convolution.define("def forward(self, x):\n  return torch.conv2d(x, self.weight)\n");
  const auto element_wise = scripted("Sigmoid", "def forward(self, x):\n  return torch.flatten(torch.sigmoid(x), 1)\n");
  return *make_model(
      sequential("Net", {{"conv", convolution}, {"act", element_wise}, {"fc", linear("Linear", 32 * 62 * 62, 64)}}),
      "heavy");
}

/// The OpenMP workers of a thread that ended end a little later; the next count must not see them go.
void wait_for_the_team_to_end(std::size_t threads_at_rest) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_this_process() > threads_at_rest && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(threads_of_this_process(), threads_at_rest);
}

/// How many threads running the stage adds to the process, and ATen's own count in that thread.
std::pair<std::size_t, int> threads_added(const model& of, std::uint32_t threads, optimize_mode mode) {
  const layered_graph_ptr graph = layers_of(of, mode);
  graph_body body = body_of(*graph, 0, graph->layers().size(), 0, threads);
  std::pair<std::size_t, int> result;
  const std::size_t at_rest = threads_of_this_process();
  std::thread([&] {
    body.on_start();
    const std::size_t before = threads_of_this_process();
    const at::Tensor input = at::ones({16, 3, 64, 64});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(body.forward(micro_batch(input)));
    result = {threads_of_this_process() - before, at::get_num_threads()};
  }).join();
  wait_for_the_team_to_end(at_rest);
  return result;
}

TEST(stage_threads, the_count_holds_for_every_library) {
  const model heavy = heavy_model();
  // another thread's setting must not leak into a new thread
  at::set_num_threads(3);
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::graph}) {
    for (const std::uint32_t threads : {1u, 2u, 4u, 1u}) {
      const auto [added, own_count] = threads_added(heavy, threads, mode);
      EXPECT_EQ(added, threads - 1) << "threads " << threads << ", mode " << static_cast<int>(mode);
      EXPECT_EQ(own_count, static_cast<int>(threads));
    }
  }
}

}  // namespace
}  // namespace troupe::testing
