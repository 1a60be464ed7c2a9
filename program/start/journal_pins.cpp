#include "program/start/journal_pins.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

#include <ATen/Version.h>
#include <torch/version.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/journal/processor.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe {
namespace {

/// Variables by which LibTorch, oneDNN and MKL choose other kernels.
constexpr std::array kernel_variables = {"ATEN_CPU_CAPABILITY",        "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                                         "ONEDNN_DEFAULT_FPMATH_MODE", "MKL_CBWR",           "MKL_ENABLE_INSTRUCTIONS"};

constexpr const char* threads_pin = "threads";
constexpr const char* plain_pin = "runs_plain";

std::string kernels() {
  std::string text = at::get_cpu_capability();
  for (const char* name : kernel_variables) {
    const char* value = std::getenv(name);
    if (value != nullptr) text.append(" ").append(name).append("=").append(value);
  }
  return text;
}

void append(std::string& list, const std::string& separator, const std::string& item) {
  list.append(list.empty() ? "" : separator).append(item);
}

/// The pipeline of a node that is a part of one; any other node's own name.
const std::string& outer_name(const topology& what, const std::string& node) {
  const auto content = what.parts().contents.find(node);
  const auto* part = content == what.parts().contents.end() ? nullptr : std::get_if<cut_node>(&content->second);
  return part == nullptr ? node : part->pipeline;
}

/// Names and edges, where there is more than a model and a sink. What callables do cannot be seen.
std::string shape_of(const topology& what) {
  std::set<std::string> inner;
  std::string text;
  for (const auto& [node, content] : what.parts().contents) inner.insert(outer_name(what, node));
  if (inner.size() == 1 && what.parts().pipelines.size() == 1 && what.parts().sinks.size() == 1) return {};
  const stage_graph graph = what.parts().graph();
  for (const graph_edge& each : graph.edges()) {
    const std::string& from = outer_name(what, each.from.node);
    const std::string& to = outer_name(what, each.to.node);
    if (from == to) continue;
    std::string line = from;
    line.append(".").append(each.from.port).append(" > ").append(to).append(".").append(each.to.port);
    append(text, "; ", line);
  }
  return text;
}

/// What a journal has of the predictions; the path may change.
std::string prediction_text(const prediction_options& kept) {
  const std::string kind = kept.file.substr(kept.file.rfind('.') + 1);
  return "predictions " + kind + " " + prediction_extra_name(kept.with);
}

/// The predictions of a task are made of the rows of its metric.
bool has_rows_of(const prediction_options& kept) {
  return !kept.file.empty() && !kept.file.ends_with(".json");
}

std::string metrics_of(const topology& what) {
  std::string text;
  for (const scored_sink& sink : what.parts().sinks) {
    std::string names;
    for (const metric_choice& each : sink.metrics) {
      const bool is_named = std::holds_alternative<std::string>(each);
      append(names, ",", is_named ? canonical_metric_name(name_of(each)) : name_of(each));
    }
    if (sink.options.intervals.confidence != 0) names += " with intervals";
    if (!sink.options.tensor.empty()) names += " of " + sink.options.tensor;
    if (!sink.options.label.empty()) names += " against " + sink.options.label;
    if (const prediction_options& kept = sink.options.predictions; has_rows_of(kept)) {
      names += " with " + prediction_text(kept);
    }
    append(text, "; ", what.parts().sinks.size() == 1 ? names : sink.name + ": " + names);
  }
  return text;
}

/// Pins of all pipelines, in the order of their names.
struct pipeline_pins {
  std::string models;
  std::string modes;
  std::string dtypes;
  /// "yes" or "no" for each that asks for a rewritten model; empty where all are rewritten.
  std::string plain;
};

/// The device of every node that computes elsewhere than on the CPU.
std::string devices_of(const topology& what) {
  std::string text;
  for (const auto& [name, content] : what.parts().contents) {
    const auto* part = std::get_if<cut_node>(&content);
    const auto* stage = std::get_if<stage_node>(&content);
    const std::string device = part != nullptr    ? what.parts().pipelines.at(part->pipeline).options.device
                               : stage != nullptr ? stage->options.device
                                                  : "cpu";
    if (device != "cpu") append(text, ",", std::string(name).append(" ").append(device));
  }
  if (text.empty()) return text;
  const auto driver = cuda_driver::load();  // another kind of GPU gives other bits
  for (const cuda_device_info& each : driver ? driver->devices() : std::vector<cuda_device_info>{}) {
    append(text, ",", each.name);
  }
  return text;
}

expected<pipeline_pins> pins_of_pipelines(const checked_run& run, const std::vector<std::string>& plain) {
  pipeline_pins made;
  for (const auto& [name, pipeline] : run.parts().pipelines) {
    const cut_options& options = pipeline.options;
    const auto content = TROUPE_TRY(pipeline.model.identity(options, name));
    append(made.models, " ", content);
    append(made.modes, ",", options.optimize == optimize_mode::none ? "none" : "graph");
    if (options.optimize != optimize_mode::none && !plain.empty())
      append(made.plain, " ", std::ranges::find(plain, name) == plain.end() ? "no" : "yes");
    if (options.dtype) append(made.dtypes, ",", name + " " + c10::toString(*options.dtype));
  }
  return made;
}

/// A folder of pictures has as many files as samples, and a pin is a short text.
constexpr std::size_t files_hashed_apart_max = 256;

/// The kind, how it is read, and each file's content, but no path: a journal goes on where the files were moved.
expected<std::string> content_of(const data_set& data) {
  const std::string name = data.name();
  const std::vector<std::string> files = data.files();
  if (files.empty()) {
    return fail(error_code::flags_contradict, "journal", "the data does not say which files it comes from",
                "override data_set::files(), or leave the journal out");
  }
  std::string hashes;
  for (const std::string& file : files) {
    auto hash = sha256_of_file(file, error_code::data_unreadable);
    if (!hash) return hash;
    hashes.append(" ").append(*hash);
  }
  const std::string how = name.substr(0, name.find(':')) + data.reading();
  if (files.size() <= files_hashed_apart_max) return how + hashes;
  sha256 of_all;
  of_all.add(hashes.data(), hashes.size());
  return how + " " + std::to_string(files.size()) + " files " + of_all.digest();
}

/// Nothing where the journal says none; whether it can be resumed is seen when it is opened.
std::optional<std::uint32_t> journaled_threads(const std::string& path) {
  const auto text = journal_pin_of(path, threads_pin);
  if (!text) return std::nullopt;
  std::uint32_t threads = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), threads);
  const bool is_number = failure == std::errc{} && end == text->data() + text->size();
  if (!is_number || threads < 1 || threads > limits::threads_max) return std::nullopt;
  return threads;
}

}  // namespace

journal_pins pins_of_machine() {
  return {{"libtorch", TORCH_VERSION}, {"processor", this_processor()}, {"kernels", kernels()}};
}

expected<std::string> identity_of_data(const data_set& data) {
  return data.files().empty() ? expected<std::string>(data.name()) : content_of(data);
}

std::map<std::string, bool> journaled_plain(const topology& what, const journal_options& journal) {
  std::map<std::string, bool> found;
  if (!journal.resume) return found;
  std::istringstream plain(journal_pin_of(journal.file, plain_pin).value_or(""));
  for (const auto& [name, pipeline] : what.parts().pipelines) {  // in the order in which pins_of() writes them
    std::string word;
    if (pipeline.options.optimize != optimize_mode::none && plain >> word) found.emplace(name, word == "yes");
  }
  return found;
}

std::uint32_t threads_of(const topology& what, const run_options& options, std::uint32_t cores) {
  if (options.threads) return *options.threads;
  if (options.journal.resume) {
    if (const auto threads = journaled_threads(options.journal.file)) return *threads;
  }
  std::uint32_t engines = 0;
  const stage_graph graph = what.parts().graph();
  for (const graph_node& node : graph.nodes()) {
    if (node.kind == node_kind::stage && !what.parts().in_driver.contains(node.name)) engines += node.replicas;
  }
  return std::max(1u, cores / std::max(1u, engines));
}

expected<journal_pins> pins_of(const checked_run& run, const data_set& data, const std::vector<std::string>& plain) {
  const topology& what = run.what;
  const run_options& options = run.options;
  const auto pipelines = TROUPE_TRY(pins_of_pipelines(run, plain));
  auto content = TROUPE_TRY(content_of(data));
  journal_pins pins = {{"model", pipelines.models},
                       {"data", content},
                       {"micro_batch", std::to_string(options.micro_batch)},
                       {"limit", options.limit ? std::to_string(*options.limit) : "not set"},
                       {threads_pin, std::to_string(options.threads.value_or(0))},
                       {"optimize", pipelines.modes},
                       {"metrics", metrics_of(what)}};
  for (journal_pin& each : pins_of_machine()) pins.push_back(std::move(each));
  if (!pipelines.plain.empty()) pins.push_back({plain_pin, pipelines.plain});
  if (!pipelines.dtypes.empty()) pins.push_back({"dtype", pipelines.dtypes});
  if (const std::string devices = devices_of(what); !devices.empty()) pins.push_back({"device", devices});
  if (const std::string shape = shape_of(what); !shape.empty()) pins.push_back({"topology", shape});
  return pins;
}

}  // namespace troupe
