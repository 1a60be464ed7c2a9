#include "exported_files.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>
#include <malloc.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "../../support/paths.hpp"
#include "../../support/peak_memory.hpp"
#include "../../support/sanitized.hpp"
#include "../../support/zip_writer.hpp"
#include "runtime/exported/read_exported.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/layered_graph.hpp"

namespace troupe::testing {
namespace {

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<at::Tensor> tensors_in(const c10::IValue& list) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& each : list.toListRef()) tensors.push_back(each.toTensor());
  return tensors;
}

}  // namespace

std::filesystem::path recorded_file(const std::string& name) {
  return source_dir() / "tests/runtime/exported/recorded" / name;
}

std::vector<recorded_call> recorded_calls(const std::string& model) {
  const std::string bytes = bytes_of(recorded_file(model + ".values.pt"));
  std::vector<recorded_call> calls;
  const c10::IValue all = torch::jit::pickle_load({bytes.begin(), bytes.end()});
  for (const c10::IValue& each : all.toListRef()) {
    const auto both = each.toListRef();
    calls.push_back({.inputs = tensors_in(both[0]), .outputs = tensors_in(both[1])});
  }
  return calls;
}

std::vector<at::Tensor> run_graph(const operator_graph& model, const std::vector<at::Tensor>& inputs) {
  const torch::jit::Code code(model.graph, "forward");
  torch::jit::Stack stack;
  std::size_t next = 0;
  for (const graph_input& each : model.inputs) {
    stack.push_back(each.otherwise ? *each.otherwise : c10::IValue(inputs.at(next++)));
  }
  torch::jit::InterpreterState(code).run(stack);
  std::vector<at::Tensor> outputs;
  for (const c10::IValue& each : stack) outputs.push_back(each.toTensor());
  return outputs;
}

bool equals_in_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  return std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(), a.nbytes()) == 0;
}

nlohmann::json exported_content::json(const std::string& name) const {
  return nlohmann::json::parse(entries.at(name));
}

std::string exported_content::zip() const {
  std::vector<zip_item> items;
  for (const auto& [name, content] : entries) items.push_back(stored("m/" + name, content));
  return zip_file(items);
}

exported_content content_of(const std::string& model) {
  auto file = open_archive(recorded_file(model + ".pt2"));
  EXPECT_TRUE(file) << model;
  exported_content content;
  for (const zip_entry& each : file->entries) {
    std::string& bytes = content.entries[each.name.substr(each.name.find('/') + 1)];
    EXPECT_TRUE(file->read(each, [&](std::string_view piece) { bytes += piece; })) << each.name;
  }
  return content;
}

written_file::written_file(const std::string& bytes) {
  std::string name = (std::filesystem::temp_directory_path() / "test-exported-XXXXXX").string();
  folder_ = mkdtemp(name.data());
  std::ofstream(path(), std::ios::binary) << bytes;
}

written_file::~written_file() {
  std::filesystem::remove_all(folder_);
}

expected<operator_graph> read_file(const std::filesystem::path& file) {
  return open_archive(file).and_then(read_exported);
}

std::string outcome_of(const std::string& bytes) {
  auto read = read_file(written_file(bytes).path());
  if (!read) return to_string(read.error());
  bind_inputs(*read, {});
  const layered_graph cut(std::move(*read), layer_unit::operators);
  return "good";
}

std::string bounded_outcome(const std::string& bytes) {
  malloc_trim(0);  // what the test has freed would be used again, and not be seen
  reset_peak();
  const std::uint64_t before = memory_now("VmRSS");
  std::string outcome = outcome_of(bytes);
  const std::uint64_t peak = memory_now("VmHWM");
  const std::uint64_t promised = 2 * bytes.size() + (64u << 20);
  // AddressSanitizer keeps what was freed.
  if (!sanitized) {
    EXPECT_LE(peak, before + promised) << outcome;
  }
  return outcome;
}

std::string outcome_of_changed(const std::string& model, const std::function<void(nlohmann::json& program)>& change) {
  exported_content content = content_of(model);
  nlohmann::json program = content.json(program_name);
  change(program);
  content.set(program_name, program);
  return outcome_of(content.zip());
}

}  // namespace troupe::testing
