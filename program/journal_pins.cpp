#include "program/journal_pins.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <ATen/Version.h>
#include <torch/version.h>

#include "messages/limits.hpp"
#include "runtime/journal/file_hash.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/journal/processor.hpp"

namespace troupe {
namespace {

/// Variables by which LibTorch, oneDNN and MKL choose other kernels.
constexpr std::array kernel_variables = {"ATEN_CPU_CAPABILITY",        "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                                         "ONEDNN_DEFAULT_FPMATH_MODE", "MKL_CBWR",           "MKL_ENABLE_INSTRUCTIONS"};

constexpr const char* threads_pin = "threads";

std::string kernels() {
  std::string text = at::get_cpu_capability();
  for (const char* name : kernel_variables) {
    const char* value = std::getenv(name);
    if (value != nullptr) text.append(" ").append(name).append("=").append(value);
  }
  return text;
}

std::string optimize_text(optimize_mode mode) {
  switch (mode) {
    case optimize_mode::layer:
      return "layer";
    case optimize_mode::stage:
      return "stage";
    case optimize_mode::none:
      return "none";
  }
  return {};
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  return text;
}

/// "0,4,15"
std::string boundaries(const std::vector<std::vector<std::string>>& layers) {
  std::string text = "0";
  std::size_t end = 0;
  for (const auto& part : layers) text.append(",").append(std::to_string(end += part.size()));
  return text;
}

/// The kind and each file's content, but no path: a journal goes on where the files were moved.
expected<std::string> content_of(const data_set& data) {
  const std::string name = data.name();
  const std::vector<std::string> files = data.files();
  if (files.empty()) {
    return fail(error_code::flags_contradict, "journal", "the data does not say which files it comes from",
                "leave the journal out");
  }
  std::string text = name.substr(0, name.find(':'));
  for (const std::string& file : files) {
    auto hash = sha256_of_file(file, error_code::data_unreadable);
    if (!hash) return hash;
    text.append(" ").append(*hash);
  }
  return text;
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

std::uint32_t threads_of(const eval_options& options, std::uint32_t cores) {
  if (!options.threads && options.resume) {
    if (const auto threads = journaled_threads(options.journal)) return *threads;
  }
  return resolve_threads(options, cores);
}

expected<journal_pins> pins_of(const eval_options& options, const data_set& data,
                               const std::vector<std::vector<std::string>>& layers) {
  auto model = sha256_of_file(options.model, error_code::model_unreadable);
  if (!model) return tl::make_unexpected(model.error());
  auto content = content_of(data);
  if (!content) return tl::make_unexpected(content.error());
  journal_pins pins = {{"model", *model},
                       {"data", *content},
                       {"micro_batch", std::to_string(options.micro_batch)},
                       {"limit", options.limit ? std::to_string(*options.limit) : "not set"},
                       {threads_pin, std::to_string(options.threads.value_or(0))},
                       {"optimize", optimize_text(options.optimize)},
                       {"metrics", listed(options.metrics)},
                       {"libtorch", TORCH_VERSION},
                       {"processor", this_processor()},
                       {"kernels", kernels()}};
  if (options.optimize == optimize_mode::stage) pins.push_back({"partition", boundaries(layers)});
  return pins;
}

}  // namespace troupe
