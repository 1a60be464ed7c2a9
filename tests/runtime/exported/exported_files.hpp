#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>

namespace troupe::testing {

/// A file of recorded/, whose make_models.py describes them.
std::filesystem::path recorded_file(const std::string& name);

/// One call of a recorded model in eager PyTorch.
struct recorded_call {
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;
};
std::vector<recorded_call> recorded_calls(const std::string& model);

/// What the graph's operators compute, one after the other. The inputs with a value of their own have that.
std::vector<at::Tensor> run_graph(const operator_graph& model, const std::vector<at::Tensor>& inputs);

/// The same type, sizes and bits.
bool equals_in_bits(const at::Tensor& a, const at::Tensor& b);

inline constexpr auto program_name = "models/model.json";
inline constexpr auto weights_name = "data/weights/model_weights_config.json";

/// The graph of a program.
inline nlohmann::json& graph_of(nlohmann::json& program) {
  return program.at("graph_module").at("graph");
}

/// The entries of an archive, to be changed and written again, stored.
struct exported_content {
  /// By the names below the archive's folder.
  std::map<std::string, std::string> entries;

  [[nodiscard]] nlohmann::json json(const std::string& name) const;
  void set(const std::string& name, const nlohmann::json& document) { entries[name] = document.dump(); }
  /// The bytes of a zip file.
  [[nodiscard]] std::string zip() const;
};
exported_content content_of(const std::string& model);

/// A file model.pt2 in a folder of its own, gone at the end.
class written_file {
 public:
  explicit written_file(const std::string& bytes);
  ~written_file();
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "model.pt2"; }

 private:
  std::filesystem::path folder_;
};

expected<operator_graph> read_file(const std::filesystem::path& file);

/// What reading a file with these bytes and finding its layers comes to: "good", or the error's text.
std::string outcome_of(const std::string& bytes);
/// The same. Checks that it took at most twice the file and 64 MiB of memory.
std::string bounded_outcome(const std::string& bytes);
/// outcome_of() a recorded model whose models/model.json is changed.
std::string outcome_of_changed(const std::string& model, const std::function<void(nlohmann::json& program)>& change);

}  // namespace troupe::testing
