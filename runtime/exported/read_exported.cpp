#include "runtime/exported/read_exported.hpp"

#include <exception>
#include <utility>

#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "messages/exception_text.hpp"
#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/exported/exported_archive.hpp"
#include "runtime/exported/exported_signature.hpp"
#include "runtime/exported/exported_weights.hpp"
#include "runtime/exported/graph_builder.hpp"
#include "runtime/exported/graph_writes.hpp"

namespace troupe {
namespace {

constexpr auto program_name = "models/model.json";
constexpr std::int64_t schema_major = 8;

expected<void> check_version(const json_part& program) {
  const json_part version = TROUPE_TRY(program.at("schema_version"));
  const std::int64_t major = TROUPE_TRY(TROUPE_TRY(version.at("major")).integer());
  if (major == schema_major) return {};
  const std::int64_t minor = TROUPE_TRY(TROUPE_TRY(version.at("minor")).integer());
  const auto writer = TROUPE_TRY(program.find("torch_version"));
  return fail(error_code::model_unsupported, program.where(),
              "the file has schema version " + std::to_string(major) + "." + std::to_string(minor) +
                  (writer ? " (of torch " + TROUPE_TRY(writer->text()) + ")" : "") + ", and version " +
                  std::to_string(schema_major) + " is read",
              "export the model with torch 2.11");
}

/// The class of the model, by the first operator that has it.
expected<std::string> class_of(const json_part& graph) {
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(graph.at("nodes")).items())) {
    const auto stack = TROUPE_TRY(TROUPE_TRY(each.at("metadata")).find("nn_module_stack"));
    std::string name = stack ? root_class(TROUPE_TRY(stack->text())) : std::string();
    if (!name.empty()) return name;
  }
  return std::string("Module");
}

expected<operator_graph> read(archive_file file) {
  exported_archive archive = TROUPE_TRY(exported_archive::open(std::move(file)));
  const nlohmann::json document = TROUPE_TRY(archive.json(program_name));
  const json_part program(document, archive.where(), program_name);
  TROUPE_TRY(check_version(program));
  const json_part module = TROUPE_TRY(program.at("graph_module"));
  const json_part graph = TROUPE_TRY(module.at("graph"));
  exported_signature signature = TROUPE_TRY(exported_signature::read(program));
  exported_weights weights = TROUPE_TRY(exported_weights::open(archive));

  operator_graph made;
  made.file = archive.where();
  made.graph = std::make_shared<torch::jit::Graph>();
  value_names names;
  const auto kept = TROUPE_TRY(signature.add_inputs(made, names, weights));
  graph_builder builder(*made.graph, TROUPE_TRY(class_of(graph)));
  TROUPE_TRY(builder.add_nodes(graph, names));
  TROUPE_TRY(signature.add_outputs(made, names));
  made.graph->lint();
  TROUPE_TRY(check_writes(*made.graph, kept, archive.where()));
  torch::jit::EliminateDeadCode(made.graph);
  return made;
}

}  // namespace

expected<operator_graph> read_exported(archive_file file) {
  const std::string where = file.name;
  try {
    return read(std::move(file));
  } catch (const std::exception& caught) {
    return fail(error_code::model_unreadable, where, "LibTorch cannot read the program: " + exception_text(caught),
                copy_again_fix);
  }
}

}  // namespace troupe
