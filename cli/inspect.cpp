#include <fmt/format.h>

#include "actors/workers/resource_needs.hpp"
#include "command.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "program/models/layered_model.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/report/text_table.hpp"
#include "runtime/tensor/named_payload.hpp"
#include <troupe/data_set.hpp>
#include <troupe/topology.hpp>

namespace troupe::cli {
namespace {

using align = text_table::align;

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

/// Of the tensor that was made last.
std::string shape_text(const std::vector<passing_values>& shapes, std::size_t place) {
  if (place >= shapes.size()) return "-";
  for (auto each = shapes[place].rbegin(); each != shapes[place].rend(); ++each) {
    if (each->shape) return to_string(*each->shape);
  }
  return "-";
}

std::string inspection_text(const layered_model& model, const std::vector<passing_values>& shapes) {
  text_table table({align::right, align::left, align::left, align::right, align::left, align::left});
  table.add({"layer", "name", "type", "parameters", "input", "output"});
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < model.layers().size(); ++at) {
    const graph_layer& each = model.layers()[at];
    parameters += each.parameters;
    trainable += each.trainable;
    bytes += each.parameter_bytes + each.buffer_bytes;
    table.add({fmt::format("{}", at), each.name, each.type, fmt::format("{}", each.parameters), shape_text(shapes, at),
               shape_text(shapes, at + 1)});
  }
  const std::string layers = model.layers().size() == 1 ? "1 layer" : fmt::format("{} layers", model.layers().size());
  const std::string head = fmt::format("{}: {}, {} parameters ({} trainable), {} bytes of weights\n",
                                       printable(model.name()), layers, parameters, trainable, bytes);
  return head + "\n" + table.text(output_width());
}

/// Layers for which an evaluation refuses the model (E0216).
std::string random_text(const layered_model& model) {
  std::string text;
  for (const layer_finding& each : model.random_code())
    text += fmt::format("\nnot repeatable (E0216): {} {}", each.name, each.text);
  return text.empty() ? text : text + "\n";
}

}  // namespace

expected<exit_status> run_inspect(const arguments& given) {
  std::string model;
  std::string data;
  model_loading how;
  parser reader("inspect", "Show the layers of a model, between which it can be cut into stages.",
                "  troupe inspect data/mnist/lenet.pt\n"
                "  troupe inspect data/cifar10/resnet20.pt --data cifar10:data/cifar10\n");
  reader.add_text("MODEL", model, "File of TorchScript (.pt) or torch.export (.pt2)", "", parser::presence::required);
  reader.add_text("--data", data, "Send one sample of this data through it, to show shapes", "KIND:PATH");
  const option& effects = *find_option("allow_effects");
  reader.add_toggle(flag_name(effects), how.allow_effects, std::string(effects.help));
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  return ensure_resources(needs_of_command("inspect"))
      .and_then([&] { return model_source(model).open({.allow_effects = how.allow_effects}, model); })
      .and_then([&](const layered_model_ptr& opened) {
        return shapes_for(*opened, data).and_then([&](const std::vector<passing_values>& shapes) {
          return print(inspection_text(*opened, shapes) + random_text(*opened));
        });
      })
      .map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
