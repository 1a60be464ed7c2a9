#include <fmt/format.h>

#include "actors/workers/resource_needs.hpp"
#include "command.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/model/chain_summary.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/model/random_code.hpp"
#include "runtime/report/text_table.hpp"
#include <troupe/data_set.hpp>
#include <troupe/model.hpp>

namespace troupe::cli {
namespace {

using align = text_table::align;

expected<chain_summary> summarize_with(const layer_chain& chain, const std::string& specification) {
  if (specification.empty()) return summarize(chain);
  const auto data = TROUPE_TRY(open_data(specification));
  const auto sample = TROUPE_TRY(data->read({0, 1}));
  const auto input = TROUPE_TRY(single_input(sample, chain.file));
  return probe_chain(chain, input).map([&](const auto& shapes) { return summarize(chain, shapes); });
}

std::string shape_text(const std::optional<std::vector<std::int64_t>>& shape) {
  return shape ? to_string(*shape) : "-";
}

std::string inspection_text(const chain_summary& chain) {
  text_table table({align::right, align::left, align::left, align::right, align::left, align::left});
  table.add({"layer", "name", "type", "parameters", "input", "output"});
  for (const layer_summary& each : chain.layers) {
    table.add({fmt::format("{}", each.index), each.name, each.type, fmt::format("{}", each.parameters),
               shape_text(each.input_shape), shape_text(each.output_shape)});
  }
  const std::string head =
      fmt::format("{}: a chain of {}, {} parameters ({} trainable), {} bytes of weights\n", printable(chain.file),
                  chain.layers.size() == 1 ? "1 layer" : fmt::format("{} layers", chain.layers.size()),
                  chain.parameters, chain.trainable, chain.parameter_bytes + chain.buffer_bytes);
  return head + "\n" + table.text(output_width());
}

/// Layers for which an evaluation refuses the model (E0216).
std::string random_text(const layer_chain& chain) {
  std::string text;
  for (const layer& each : chain.layers) {
    const auto random = each.passes_through ? std::nullopt : find_random(each.module);
    if (random) text += fmt::format("\nnot repeatable (E0216): {} {}", to_string(each), *random);
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

expected<exit_status> run_inspect(const arguments& given) {
  std::string model;
  std::string data;
  model_loading how;
  parser reader("inspect", "Show the layers of a TorchScript model, or which node breaks the chain and what to do.",
                "  troupe inspect data/mnist/lenet.pt\n"
                "  troupe inspect data/cifar10/resnet20.pt --data cifar10:data/cifar10\n");
  reader.add_text("MODEL", model, "TorchScript file", "", parser::presence::required);
  reader.add_text("--data", data, "Send one sample of this data through it, to show shapes", "KIND:PATH");
  const option& effects = *find_option("allow_effects");
  reader.add_toggle(flag_name(effects), how.allow_effects, std::string(effects.help));
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  return ensure_resources(needs_of_command("inspect"))
      .and_then([&] { return load_chain(model, how); })
      .and_then([&](const layer_chain& chain) {
        return summarize_with(chain, data).and_then([&](const chain_summary& summary) {
          return print(inspection_text(summary) + random_text(chain));
        });
      })
      .map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
