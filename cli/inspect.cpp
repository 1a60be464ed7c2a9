#include "actors/workers/resource_needs.hpp"
#include "command.hpp"
#include "data_flags.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "program/models/layered_model.hpp"
#include "program/plan/draw_graph.hpp"
#include "runtime/config/data_overrides.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/tensor/named_payload.hpp"
#include <troupe/data_set.hpp>
#include <troupe/topology.hpp>

namespace troupe::cli {
namespace {

/// Empty without data.
expected<std::vector<passing_values>> shapes_for(layered_model& model, const std::string& specification) {
  if (specification.empty()) return std::vector<passing_values>();
  const auto data = TROUPE_TRY(open_data(specification));
  const auto sample = TROUPE_TRY(data->read({0, 1}));
  const payload_ptr inputs = to_payload(sample.inputs);
  model.bind(names_of_inputs(inputs));
  const auto values = TROUPE_TRY(model.inputs_from(inputs));
  return model.probe(values, {});
}

expected<drawn_model> draw_with(layered_model& model, const std::string& specification) {
  const auto shapes = TROUPE_TRY(shapes_for(model, specification));
  drawn_model drawn = draw(model.plain(), shapes);
  drawn.data = specification;
  for (const layer_finding& each : model.random_code()) drawn.not_repeatable.push_back(each.name + " " + each.text);
  return drawn;
}

}  // namespace

expected<exit_status> run_inspect(const arguments& given) {
  std::string model;
  std::string data;
  bool as_json = false;
  model_loading how;
  model_with_weights built_in;
  parser reader("inspect", "Show the layers of a model, and what crosses a cut between them.",
                "  troupe inspect data/mnist/lenet.pt\n"
                "  troupe inspect data/cifar10/resnet20.pt --data cifar10:data/cifar10\n");
  reader.add_text("MODEL", model, "File of a model: torch.export (.pt2) or TorchScript (.pt)", "",
                  parser::presence::required);
  reader.add_text("--data", data, "Send one sample of this data through it, to show shapes", "KIND:PATH");
  const data_flags how_read(reader);
  reader.add_toggle("--json", as_json, "Print one JSON object");
  const option& arch = *find_option("arch");
  reader.add_text(flag_name(arch), built_in.arch, std::string(arch.help), std::string(arch.value_name));
  const option& not_strict = *find_option("not_strict");
  reader.add_toggle(flag_name(not_strict), built_in.not_strict, std::string(not_strict.help));
  const option& effects = *find_option("allow_effects");
  reader.add_toggle(flag_name(effects), how.allow_effects, std::string(effects.help));
  std::string unit = layers_name(layer_unit::modules);
  const option& layers = *find_option("layers");
  reader.add_text(flag_name(layers), unit, std::string(layers.help), std::string(layers.value_name));
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const auto chosen = TROUPE_TRY(parse_setting(layers, unit, {origin_kind::flag, flag_name(layers)}));
  const layer_unit between = layers_of(std::get<std::string>(chosen.value));
  data = TROUPE_TRY(with_data_flags(data, {origin_kind::flag, "--data"}, how_read.given()));
  built_in.weights = model;
  const bool is_built_in = !built_in.arch.empty() || built_in.not_strict;
  const model_source source = is_built_in ? model_source(built_in) : model_source(model);
  return ensure_resources(needs_of_command("inspect"))
      .and_then([&] { return source.open({.layers = between, .allow_effects = how.allow_effects}, model); })
      .and_then([&](const layered_model_ptr& opened) {
        return draw_with(*opened, data).and_then([&](const drawn_model& drawn) {
          return print(as_json ? drawing_json(drawn) : drawing_text(drawn, output_width()));
        });
      })
      .map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
