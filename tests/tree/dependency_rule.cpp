#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// The parts of runtime/ that ThreadSanitizer builds, without LibTorch.
constexpr std::array core_folders = {
    "suggest", "fault",     "schedule",   "topology", "partition", "trace",  "os",         "log",
    "edge",    "transport", "link",       "process",  "journal",   "ledger", "telemetry",  "flow",
    "wiring",  "inject",    "local_host", "launch",   "join",      "agent",  "agent_host", "launcher",
    "cuda",    "device",    "archive",    "kernel",   "json",      "text",   "random"};

std::string part(const fs::path& path, std::ptrdiff_t n) {
  return std::distance(path.begin(), path.end()) > n ? std::next(path.begin(), n)->string() : std::string{};
}

/// The layer that each public header belongs to; a folder of runtime/ where it belongs to the core.
const std::map<std::string, std::string>& layers_of_public_headers() {
  static const std::map<std::string, std::string> layers = {{"error.hpp", "messages"},
                                                            {"error_code.hpp", "messages"},
                                                            {"ids.hpp", "messages"},
                                                            {"limits.hpp", "messages"},
                                                            {"log_record.hpp", "messages"},
                                                            {"instruction.hpp", "runtime/schedule"},
                                                            {"trace_event.hpp", "runtime/trace"},
                                                            {"process_topology.hpp", "runtime/topology"},
                                                            {"options.hpp", "runtime/config"},
                                                            {"data_set.hpp", "runtime/data"},
                                                            {"named_tensors.hpp", "runtime/tensor"},
                                                            {"metric.hpp", "runtime/metric"},
                                                            {"metric_of.hpp", "runtime/metric"},
                                                            {"model.hpp", "runtime/model"},
                                                            {"layer_spec.hpp", "runtime/model"},
                                                            {"weights.hpp", "runtime/weights"},
                                                            {"stage_function.hpp", "runtime/stage"},
                                                            {"result.hpp", "runtime/report"},
                                                            {"scalars.hpp", "runtime/monitor"},
                                                            {"fault_plan.hpp", "runtime/fault"},
                                                            {"tokenizer.hpp", "runtime/text"},
                                                            {"training.hpp", "runtime/optimizer"},
                                                            {"topology.hpp", "program"},
                                                            {"evaluator.hpp", "program"},
                                                            {"pipeline_module.hpp", "program"},
                                                            {"pipeline_engine.hpp", "program"},
                                                            {"training_engine.hpp", "program"},
                                                            {"trainer.hpp", "program"},
                                                            {"program.hpp", "program"},
                                                            {"troupe.hpp", "all"}};
  return layers;
}

/// A public header stands where its layer does.
fs::path place_of(const fs::path& path) {
  if (part(path, 0) != "include") return path;
  const auto found = layers_of_public_headers().find(path.filename().string());
  return found == layers_of_public_headers().end() ? path : found->second / path.filename();
}

/// Who may include whom: the same layer, and any of a smaller number. troupe.hpp ("all") is for programs, testing/ for
/// tests, which have no layer; the simulator is a command, too.
std::optional<int> level_of(const fs::path& path) {
  if (path.string().starts_with("testing/simulation/")) return 3;
  static const std::map<std::string, int> levels = {{"messages", 0}, {"runtime", 1}, {"actors", 2},   {"program", 3},
                                                    {"all", 4},      {"cli", 5},     {"examples", 5}, {"testing", 6}};
  const auto found = levels.find(part(place_of(path), 0));
  return found == levels.end() ? std::nullopt : std::optional(found->second);
}

bool is_core(const fs::path& path) {
  const fs::path place = place_of(path);
  return part(place, 0) == "runtime" && std::ranges::find(core_folders, part(place, 1)) != core_folders.end();
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return text.starts_with(p); });
}

bool is_torch(std::string_view include) {
  return starts_with_any(include, {"torch/", "ATen/", "c10/", "caffe2/"});
}
bool is_caf(std::string_view include) {
  return include.starts_with("caf/");
}
bool is_command_line(std::string_view include) {
  return include.starts_with("CLI/");
}
bool is_standard(std::string_view include) {
  return include.find_first_of("/.") == std::string_view::npos;
}
bool is_of_messages(std::string_view include) {
  return is_standard(include) || starts_with_any(include, {"tl/", "msgpack.hpp", "msgpack/"});
}

/// The installed headers: include/, and those that tests of users need beside it.
constexpr const char* simulation_header = "troupe/simulation.hpp";
constexpr const char* simulation_include = "testing/simulation/include";
bool is_public(const fs::path& file) {
  return part(file, 0) == "include" || file.string().starts_with(simulation_include);
}

/// Why `file` may not include this header of another library; empty if it may.
std::string outside_objection(const fs::path& file, std::string_view include) {
  const std::string layer = part(place_of(file), 0);
  if (is_public(file) && !is_standard(include) && !is_torch(include) && !include.starts_with("tl/"))
    return "a public header includes std, tl::expected and LibTorch only";
  if (layer == "messages" && !is_of_messages(include)) return "messages/ includes std, tl::expected and msgpack only";
  if (layer == "runtime" && is_caf(include)) return "runtime/ includes no CAF";
  if (layer != "cli" && layer != "examples" && is_command_line(include))
    return "only cli/ includes a command-line parser";
  if (is_core(file) && is_torch(include)) return "runtime/" + part(place_of(file), 1) + " includes no LibTorch";
  return {};
}

/// What the driver has of workers knows nothing of where they live (worker_host).
bool sees_workers_from_outside(const fs::path& file) {
  constexpr std::array names = {"worker_pool", "remote_stage", "worker_stages", "worker_setup", "worker_claims"};
  return file.parent_path() == "actors/workers" && std::ranges::find(names, file.stem()) != names.end();
}
bool is_of_a_host(const fs::path& include) {
  return starts_with_any(include.string(),
                         {"runtime/link/", "runtime/local_host/", "runtime/process/process_",
                          "runtime/process/fd_channel", "runtime/process/memory_file", "runtime/os/shared_memory"});
}

/// What a kind of edge is made of stays in its folder; who needs edges asks the table.
bool is_of_a_transport(const fs::path& include) {
  const std::string stem = include.stem().string();
  return include.parent_path().parent_path() == "runtime/edge" &&
         (stem.ends_with("_edge") || stem.ends_with("_transport"));
}
bool may_name_transports(const fs::path& file) {
  return file.parent_path() == "runtime/transport" || file.parent_path().parent_path() == "runtime/edge" ||
         part(file, 0) == "testing";
}

/// Why `file` may not include this header of the tree; empty if it may.
std::string inside_objection(const fs::path& file, const fs::path& include) {
  const std::string from = part(place_of(file), 0);
  const std::string to = part(place_of(include), 0);
  if (!level_of(include)) return "no layer of the tree";
  if (!level_of(file)) return "a public header without a layer";
  if (is_public(file) && !is_public(include)) return "a public header includes public ones only";
  if (sees_workers_from_outside(file) && is_of_a_host(include)) return "knows workers through worker_host alone";
  if (is_of_a_transport(include) && !may_name_transports(file))
    return "transports are found in runtime/transport/transport_table.hpp";
  if (from != to && level_of(include) >= level_of(file)) return from + "/ does not depend on " + to;
  if (from == to && is_core(file) && !is_core(include)) {
    return "runtime/" + part(place_of(file), 1) + " runs no kernels, runtime/" + part(place_of(include), 1) + " may";
  }
  return {};
}

/// The path in the tree of a header included in quotes: from the root, or from the folder of `file`.
fs::path in_tree(const fs::path& file, const fs::path& include) {
  return level_of(include) || part(include, 0) == "tests" ? include : (file.parent_path() / include).lexically_normal();
}

std::string include_objection(const fs::path& file, const std::string& include, bool quoted) {
  if (include == simulation_header) return inside_objection(file, fs::path(simulation_include) / include);
  if (include.starts_with("troupe/")) return inside_objection(file, "include" / fs::path(include));
  if (quoted) return inside_objection(file, in_tree(file, include));
  return outside_objection(file, include);
}

bool names_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view w) { return line.find(w) != std::string_view::npos; });
}

/// Linking says the same as including, and a precompiled header is an include that no source shows.
std::string link_objection(const fs::path& file, std::string_view line) {
  const std::string layer = part(file, 0);
  if (layer == "messages" && names_any(line, {"CAF::", "torch", "DEPENDS troupe_"}))
    return "messages/ links none of the others";
  if (layer == "runtime" && names_any(line, {"CAF::"})) return "runtime/ links no CAF";
  if (is_core(file) && names_any(line, {"torch"})) return "runtime/" + part(file, 1) + " links no LibTorch";
  return {};
}

/// What an include directive names and whether in quotes; nothing for any other line.
std::optional<std::pair<std::string, bool>> parse_include(std::string_view line) {
  const auto skip = [&](std::string_view expected) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const bool is_there = line.starts_with(expected);
    if (is_there) line.remove_prefix(expected.size());
    return is_there;
  };
  if (!skip("#") || !skip("include") || !skip("") || line.empty()) return std::nullopt;
  const bool quoted = line.front() == '"';
  const auto end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos || (!quoted && line.front() != '<')) return std::nullopt;
  return std::pair(std::string(line.substr(1, end - 1)), quoted);
}

std::string line_objection(const fs::path& file, const std::string& line) {
  if (file.filename() == "CMakeLists.txt") {
    return line.starts_with('#') ? std::string{} : link_objection(file, line);
  }
  const auto include = parse_include(line);
  if (!include) return {};
  const std::string why = include_objection(file, include->first, include->second);
  return why.empty() ? why : include->first + ": " + why;
}

}  // namespace

std::optional<fs::path> included_in_tree(const fs::path& root, const fs::path& file, const std::string& line) {
  const auto include = parse_include(line);
  if (!include) return std::nullopt;
  const fs::path from_root = include->second ? fs::path(include->first) : "include" / fs::path(include->first);
  if (fs::is_regular_file(root / from_root)) return from_root;
  fs::path from_here = (file.parent_path() / include->first).lexically_normal();
  if (include->second && fs::is_regular_file(root / from_here)) return from_here;
  return std::nullopt;
}

findings dependency_findings(const fs::path& root) {
  findings found;
  for (const fs::path& file : source_files(root)) {
    if (!level_of(file) && part(file, 0) != "include") continue;
    std::size_t number = 0;
    for (const std::string& line : read_lines(root / file)) {
      ++number;
      const std::string why = line_objection(file, line);
      if (!why.empty()) found.push_back(file.string() + ":" + std::to_string(number) + ": " + why);
    }
  }
  return found;
}

}  // namespace troupe::testing
