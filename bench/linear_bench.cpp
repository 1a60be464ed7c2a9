// One linear layer on one thread: the packed kernel at each vector width against at::linear, as a table in Markdown.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/core.h>
#include <time.h>

#include "machine.hpp"
#include "runtime/kernel/packed_linear.hpp"

namespace troupe::bench {
namespace {

constexpr std::size_t rounds = 41;
constexpr double round_us = 1500;

struct contestant {
  std::string name;
  std::function<void()> run;
  std::int64_t repeats = 1;
  std::vector<double> times_us = {};
};

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// The time that this thread had the processor, per call.
double time_us(const contestant& one) {
  const double start = cpu_us();
  for (std::int64_t i = 0; i < one.repeats; ++i) one.run();
  return (cpu_us() - start) / static_cast<double>(one.repeats);
}

double part(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// In turns, in changing order.
void measure(std::vector<contestant>& all) {
  for (contestant& one : all) {
    time_us(one);
    one.repeats = std::max<std::int64_t>(1, static_cast<std::int64_t>(round_us / time_us(one)));
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      contestant& one = all[(round + i) % all.size()];
      one.times_us.push_back(time_us(one));
    }
  }
}

const char* name_of(vector_width width) {
  if (width == vector_width::avx512) return "AVX-512";
  return width == vector_width::avx2 ? "AVX2" : "portable";
}

void compare(std::int64_t inputs, std::int64_t outputs, std::int64_t rows) {
  const at::Tensor weight = at::randn({outputs, inputs});
  const at::Tensor bias = at::randn({outputs});
  const at::Tensor x = at::randn({rows, inputs});
  const packed_weights packed(weight_matrix<float>{weight.const_data_ptr<float>(), outputs, inputs, inputs, 1},
                              bias.const_data_ptr<float>());
  const at::Tensor expected = at::linear(x, weight, bias);
  std::vector<contestant> all{{"at::linear", [&] { at::linear(x, weight, bias); }}};
  for (const vector_width width : usable_vector_widths()) {
    if (width == vector_width::portable) continue;
    const auto run = [&, width] {
      at::Tensor y = at::empty({rows, outputs});
      packed_linear<float>(packed, rows, {x.const_data_ptr<float>(), inputs}, {y.mutable_data_ptr<float>(), outputs},
                           {.width = width});
      return y;
    };
    if (!at::allclose(run(), expected, 1e-3, 1e-3)) {
      fmt::print(stderr, "{} x {}, {} rows: the results differ\n", inputs, outputs, rows);
      std::exit(1);
    }
    all.push_back({name_of(width), run});
  }
  measure(all);
  for (contestant& one : all) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(one.times_us[i] / all.front().times_us[i]);
    const double least = part(one.times_us, 0);
    const double gigaflops = 2e-3 * static_cast<double>(rows * inputs * outputs) / least;
    fmt::print("| {} -> {} | {} | {} | {:.1f} | {:.1f} | {:.0f} | {:.2f} | {:.2f} to {:.2f} |\n", inputs, outputs, rows,
               one.name, least, part(one.times_us, 0.5), gigaflops, part(ratios, 0.5), part(ratios, 0.25),
               part(ratios, 0.75));
  }
}

}  // namespace
}  // namespace troupe::bench

int main() {
  using namespace troupe::bench;
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  fmt::print("{}, {}, load {:.1f}\n\n", processor(), compiler(), load_average());
  fmt::print("| layer | rows | kernel | least us | median us | GFLOP/s | ratio | quartiles |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const auto& [inputs, outputs] :
       {std::pair<std::int64_t, std::int64_t>{256, 256}, {1024, 1024}, {768, 3072}, {3072, 768}}) {
    for (const std::int64_t rows : {1, 8, 64, 1024}) compare(inputs, outputs, rows);
  }
}
