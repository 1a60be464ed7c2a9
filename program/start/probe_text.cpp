#include "program/start/probe_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using json = nlohmann::json;

/// Above anything that fits a machine, and far below where its sums and products overflow.
constexpr std::uint64_t bytes_max = std::uint64_t{1} << 48;

/// Thrown inside this file alone.
struct misfit {
  const char* where;
};

const json& member(const json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw misfit{name};
  return object[name];
}

std::uint64_t number(const json& value, const char* where) {
  if (!value.is_number_unsigned()) throw misfit{where};
  return value.get<std::uint64_t>();
}

std::string text(const json& value, const char* where) {
  if (!value.is_string()) throw misfit{where};
  return value.get<std::string>();
}

bool flag(const json& value, const char* where) {
  if (!value.is_boolean()) throw misfit{where};
  return value.get<bool>();
}

const json::array_t& list(const json& value, std::size_t most, const char* where) {
  if (!value.is_array() || value.size() > most) throw misfit{where};
  return value.get_ref<const json::array_t&>();
}

json to_json(const cut_report& cut, const std::vector<tensor_place>& places, std::size_t& next) {
  json warm_up = json::array();
  for (std::size_t part = 0; part < cut.warm_up.size(); ++part, ++next) {
    warm_up.push_back({places[next].begin, places[next].bytes});
  }
  json ties = json::array();
  for (const tied_stages& each : cut.ties) ties.push_back({each.one, each.other});
  return {{"name", cut.name},
          {"boundaries", cut.boundaries},
          {"ties", ties},
          {"runs_plain", cut.runs_plain},
          {"inputs", cut.inputs},
          {"layers", cut.layers},
          {"warm_up", warm_up},
          {"cut_by", cut.cut_by},
          {"bits_depend_on", cut.bits_depend_on}};
}

cut_report cut_from(const json& value, std::vector<tensor_place>& places) {
  cut_report cut;
  cut.name = text(member(value, "name"), "name");
  for (const json& each : list(member(value, "boundaries"), limits::stages_max + 1, "boundaries")) {
    cut.boundaries.push_back(number(each, "boundaries"));
  }
  for (const json& each : list(member(value, "ties"), limits::ranks_max, "ties")) {
    const auto& pair = list(each, 2, "ties");
    if (pair.size() != 2) throw misfit{"ties"};
    const auto stage = [](const json& one) {
      const std::uint64_t part = number(one, "ties");
      if (part >= limits::stages_max) throw misfit{"ties"};
      return static_cast<stage_index>(part);
    };
    cut.ties.push_back({stage(pair[0]), stage(pair[1])});
  }
  cut.runs_plain = flag(member(value, "runs_plain"), "runs_plain");
  for (const json& each : list(member(value, "inputs"), limits::ports_max, "inputs"))
    cut.inputs.push_back(text(each, "inputs"));
  for (const json& part : list(member(value, "layers"), limits::stages_max, "layers")) {
    auto& names = cut.layers.emplace_back();
    for (const json& each : list(part, limits::layers_max, "layers")) names.push_back(text(each, "layers"));
  }
  for (const json& each : list(member(value, "warm_up"), limits::stages_max, "warm_up")) {
    const auto& place = list(each, 2, "warm_up");
    if (place.size() != 2) throw misfit{"warm_up"};
    places.push_back({number(place[0], "warm_up"), number(place[1], "warm_up")});
    cut.warm_up.emplace_back();
  }
  cut.cut_by = text(member(value, "cut_by"), "cut_by");
  cut.bits_depend_on = text(member(value, "bits_depend_on"), "bits_depend_on");
  return cut;
}

std::vector<std::string> texts(const json& value, const char* where) {
  std::vector<std::string> made;
  for (const json& each : list(value, limits::probe_text_bytes_max, where)) made.push_back(text(each, where));
  return made;
}

error error_from(const json& value) {
  const auto code = parse_code(text(member(value, "code"), "code"));
  if (!code) throw misfit{"code"};
  return {*code, text(member(value, "where"), "where"), text(member(value, "cause"), "cause"),
          text(member(value, "fix"), "fix")};
}

}  // namespace

std::string to_text(const expected<probe_report>& report, const std::vector<tensor_place>& places) {
  json object;
  if (report) {
    std::size_t next = 0;
    json cuts = json::array();
    for (const cut_report& each : report->cuts) cuts.push_back(to_json(each, places, next));
    object = {{"fingerprint", report->fingerprint},
              {"between_bytes", report->between_bytes},
              {"device_channels", report->device_channels},
              {"notes", report->notes},
              {"warnings", report->warnings},
              {"cuts", cuts}};
  } else {
    const error& e = report.error();
    object["error"] = {{"code", code_name(e.code)}, {"where", e.where}, {"cause", e.cause}, {"fix", e.fix}};
  }
  // Names need not be UTF-8.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

expected<probe_report> from_text(const std::string& text, std::vector<tensor_place>& places) {
  const auto malformed = [](const std::string& cause) {
    return fail(error_code::wire_malformed, "the report of the try-out", cause,
                "look for code of the model or of a stage that writes where it must not");
  };
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return malformed("it is no JSON");
  try {
    if (object.contains("error")) return tl::make_unexpected(error_from(object["error"]));
    probe_report report;
    report.fingerprint = number(member(object, "fingerprint"), "fingerprint");
    report.between_bytes = number(member(object, "between_bytes"), "between_bytes");
    if (report.between_bytes > bytes_max) throw misfit{"between_bytes"};
    for (const json& each : list(member(object, "device_channels"), limits::probe_text_bytes_max, "device_channels")) {
      report.device_channels.push_back(number(each, "device_channels"));
    }
    report.notes = texts(member(object, "notes"), "notes");
    report.warnings = texts(member(object, "warnings"), "warnings");
    for (const json& each : list(member(object, "cuts"), limits::stages_max, "cuts")) {
      report.cuts.push_back(cut_from(each, places));
    }
    return report;
  } catch (const misfit& wrong) {
    return malformed(std::string("\"") + wrong.where + "\" is not what it should be");
  }
}

}  // namespace troupe
