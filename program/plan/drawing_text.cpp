#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/printable.hpp"
#include "program/plan/model_drawing.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe {
namespace {

using align = text_table::align;
constexpr std::size_t type_columns_max = 20;

using shape_list = std::vector<std::vector<std::int64_t>>;

std::string shapes_text(const shape_list& shapes) {
  std::string text;
  for (const auto& each : shapes) text += fmt::format("{}[{}]", text.empty() ? "" : " ", fmt::join(each, ", "));
  return text.empty() ? "-" : text;
}

const crossing* place_behind(const drawn_model& model, std::size_t layer) {
  return layer + 1 < model.layers.size() ? &model.layers[layer + 1].before : nullptr;
}

std::string cut_text(const crossing* place) {
  if (place == nullptr) return "-";
  if (!place->joined_because.empty()) return "none";
  const auto bytes = place->bytes();
  return bytes ? bytes_text(*bytes) : "-";
}

/// Lines below a layer; none where the table says all. Reasons are whole, as the place of an operator ends them.
std::string notes_text(const drawn_layer& layer, const crossing* behind, std::size_t width) {
  constexpr std::string_view begin = "       └ ";
  std::string text;
  const auto add = [&](const std::string& note) { text += note + "\n"; };
  if (!layer.uncut.empty()) add(fmt::format("{}one layer: {}", begin, printable(layer.uncut)));
  if (behind == nullptr) return text;
  if (!behind->joined_because.empty()) {
    add(fmt::format("{}no cut here: {}", begin, printable(behind->joined_because)));
  } else if (behind->values.size() != 1) {
    add(shortened(fmt::format("{}{}", begin, printable(crossing_text(*behind))), width));
  }
  return text;
}

std::string head_text(const drawn_model& model) {
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t bytes = 0;
  for (const drawn_layer& each : model.layers) {
    parameters += each.parameters;
    trainable += each.trainable;
    bytes += each.weight_bytes;
  }
  const std::string layers = model.layers.size() == 1 ? "1 layer" : fmt::format("{} layers", model.layers.size());
  return fmt::format("{}: {}{}, {} parameters ({} trainable), {} bytes of weights\n", printable(model.file),
                     is_chain(model) ? "a chain of " : "", layers, parameters, trainable, bytes);
}

/// Over all places where the model may be cut.
std::string cuts_text(const drawn_model& model) {
  std::size_t places = 0;
  std::optional<std::uint64_t> least;
  std::optional<std::uint64_t> most;
  for (std::size_t l = 1; l < model.layers.size(); ++l) {
    const crossing& place = model.layers[l].before;
    if (!place.joined_because.empty()) continue;
    ++places;
    const auto bytes = place.bytes();
    if (!bytes) continue;
    least = std::min(least.value_or(*bytes), *bytes);
    most = std::max(most.value_or(*bytes), *bytes);
  }
  std::string text = fmt::format("{} place{} to cut", places, places == 1 ? "" : "s");
  if (least && least == most)
    text += fmt::format(", {} of a sample cross{}", bytes_text(*least), places == 1 ? "" : " each");
  if (least && least != most)
    text += fmt::format(", where {} to {} of a sample cross", bytes_text(*least), bytes_text(*most));
  return text;
}

}  // namespace

bool is_chain(const drawn_model& model) {
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const crossing& place = model.layers[l].before;
    if (place.values.size() != 1 || !place.joined_because.empty()) return false;
    if (l > 0 && place.values.front().made_by != model.layers[l - 1].name) return false;
  }
  return true;
}

std::string drawing_text(const drawn_model& model, std::size_t width) {
  text_table table({align::right, align::left, align::left, align::right, align::right, align::left, align::left});
  table.add({"layer", "name", "type", "parameters", "cut behind", "input", "output"});
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const drawn_layer& each = model.layers[l];
    table.add({fmt::format("{}", l), path_end(each.name, name_columns_max), shortened(each.type, type_columns_max),
               fmt::format("{}", each.parameters), cut_text(place_behind(model, l)), shapes_text(each.inputs),
               shapes_text(each.outputs)});
  }
  std::string text = head_text(model) + "\n";
  std::istringstream rows(table.text(width));
  std::string row;
  std::getline(rows, row);
  text += row + "\n";
  for (std::size_t l = 0; std::getline(rows, row); ++l) {
    text += row + "\n" + notes_text(model.layers[l], place_behind(model, l), width);
  }
  text += "\n" + shortened(cuts_text(model), width) + "\n";
  for (const std::string& each : model.not_repeatable) text += "\nnot repeatable (E0216): " + printable(each);
  return model.not_repeatable.empty() ? text : text + "\n";
}

}  // namespace troupe
