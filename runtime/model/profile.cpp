#include "runtime/model/profile.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Per layer its times, one per pass; nothing if it was told to stop. `at` tells how far the last pass came.
std::vector<std::vector<double>> time_passes(const std::vector<graph_code>& layers, const graph_values& micro_batch,
                                             const std::stop_token& stop, std::chrono::milliseconds budget,
                                             std::size_t& at) {
  std::vector<std::vector<double>> times(layers.size());
  auto start = clock_type::now();
  for (std::uint32_t pass = 0; pass < limits::profile_warm_up_passes + limits::profile_passes_max; ++pass) {
    const bool measured = pass >= limits::profile_warm_up_passes;
    if (pass == limits::profile_warm_up_passes) start = clock_type::now();
    const bool enough = pass >= limits::profile_warm_up_passes + limits::profile_passes_min;
    if (enough && clock_type::now() - start > budget) break;
    graph_values values = micro_batch;
    for (at = 0; at < layers.size(); ++at) {
      if (stop.stop_requested()) return {};
      const auto begin = clock_type::now();
      values = layers[at].run(std::move(values));
      if (measured) times[at].push_back(seconds_since(begin));
    }
  }
  return times;
}

expected<std::vector<double>> measure(const layered_graph& graph, const graph_values& micro_batch,
                                      std::uint32_t threads, const std::stop_token& stop,
                                      std::chrono::milliseconds budget) {
  at::get_num_threads();
  at::set_num_threads(static_cast<int>(threads));
  const c10::InferenceMode inference;
  std::size_t at = 0;
  try {
    // A layer that cannot be separated from the one before it is timed with it.
    std::vector<graph_code> pieces;
    std::vector<std::size_t> begins;
    for (std::size_t begin = 0, end = 0; begin < graph.layers().size(); begin = end) {
      for (end = begin + 1; end < graph.layers().size() && !graph.can_begin(end);) ++end;
      pieces.emplace_back(graph.part(begin, end));
      begins.push_back(begin);
    }
    auto times = time_passes(pieces, micro_batch, stop, budget, at);
    if (times.empty()) return stopped_early(graph.model().file);
    std::vector<double> seconds(graph.layers().size());
    for (std::size_t piece = 0; piece < begins.size(); ++piece)
      seconds[begins[piece]] = median(std::move(times[piece]));
    return seconds;
  } catch (const std::exception& caught) {
    const std::string& model = graph.model().file;
    return fail(error_code::forward_failed,
                at < graph.layers().size() ? model + ", " + layer_text(at, graph.layers()[at]) : model,
                "forward failed while layers were timed: " + libtorch_message(caught),
                "use a smaller --micro-batch if memory ran out, or --partition parameters");
  }
}

}  // namespace

expected<std::vector<double>> profile_layers(const layered_graph& graph, const graph_values& micro_batch,
                                             std::uint32_t threads, const std::stop_token& stop,
                                             std::chrono::milliseconds budget) {
  TROUPE_CHECK(threads >= 1 && !graph.layers().empty(), "profiling follows loading and the resolution of threads");
  expected<std::vector<double>> result;
  auto measuring = TROUPE_TRY(
      start_thread(graph.model().file, [&] { result = measure(graph, micro_batch, threads, stop, budget); }));
  measuring.join();
  return result;
}

}  // namespace troupe
