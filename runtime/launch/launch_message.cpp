#include "runtime/launch/launch_message.hpp"

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* channel_name = "launch channel";

tl::unexpected<error> no_message(std::string cause) {
  return fail(error_code::wire_malformed, channel_name, std::move(cause),
              "start the driver with the troupe launch of its own version");
}

tl::unexpected<error> too_long(std::size_t bytes) {
  return fail(
      error_code::wire_too_large, channel_name,
      std::to_string(bytes) + " bytes in a line, " + std::to_string(limits::launch_line_bytes_max) + " are permitted",
      "launch fewer nodes, or a smaller environment");
}

// --- to JSON ---

json to_json(const std::optional<std::string>& text) {
  return text ? json(*text) : json(nullptr);
}

json to_json(const launch_setup& setup) {
  json nodes = json::array();
  for (const node_slots& node : setup.nodes) nodes.push_back({{"name", node.name}, {"slots", node.slots}});
  json environment = json::array();
  for (const auto& [name, value] : setup.environment) environment.push_back(json::array({name, value}));
  return {{"launch",
           {{"nodes", std::move(nodes)},
            {"driver_node", setup.driver_node ? json(*setup.driver_node) : json(nullptr)},
            {"addresses", setup.addresses},
            {"port", setup.port},
            {"join_timeout_ms", setup.join_timeout.count()},
            {"worker_timeout_ms", setup.worker_timeout ? json(setup.worker_timeout->count()) : json(nullptr)},
            {"grace_ms", setup.grace.count()},
            {"allow_shrink", setup.allow_shrink},
            {"placement", to_json(setup.placement)},
            {"environment", std::move(environment)},
            {"bind_cores", setup.bind_cores},
            {"log_dir", to_json(setup.log_dir)},
            {"tee", setup.tee}}}};
}

json to_json(const launch_ticket& ticket) {
  return {{"ticket", {{"node", ticket.node}, {"text", ticket.text}}}};
}

json to_json(const launch_joined& joined) {
  return {{"joined", joined.node}};
}

json to_json(const launch_end_asked& asked) {
  return {{"end_asked", asked.node}};
}

json to_json(const launch_agent_failed& failed) {
  // an error may have what some program has written
  const error& why = failed.why;
  const json made = {
      {"code", static_cast<unsigned>(why.code)}, {"where", why.where}, {"cause", why.cause}, {"fix", why.fix}};
  const std::string text = made.dump(-1, ' ', false, json::error_handler_t::replace);
  return {{"agent_failed", {{"node", failed.node}, {"why", json::parse(text)}}}};
}

json to_json(const launch_stop& stop) {
  return {{"stop", {{"signal", stop.signal}}}};
}

// --- from JSON ---

/// Which rule of a message is broken; parse_launch_message() turns it into an error.
struct broken_rule : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void demand(bool holds, const char* rule) {
  if (!holds) throw broken_rule(rule);
}

/// The members of an object, each asked for once: others have no place in a message.
class member_reader {
 public:
  member_reader(const json& object, std::size_t members) : object_(object) {
    demand(object.is_object() && object.size() == members, "an object has other members than expected");
  }
  [[nodiscard]] const json& at(const char* name) const {
    const auto found = object_.find(name);
    demand(found != object_.end(), "an object has other members than expected");
    return *found;
  }

 private:
  const json& object_;
};

const std::string& text_of(const json& value) {
  demand(value.is_string(), "a text is expected");
  return value.get_ref<const std::string&>();
}

std::string node_of(const json& value) {
  const std::string& name = text_of(value);
  demand(!name.empty() && name.size() <= limits::node_name_bytes_max, "a node's name has a wrong length");
  return name;
}

std::uint64_t number_of(const json& value, std::uint64_t most) {
  demand(value.is_number_unsigned() && value.get<std::uint64_t>() <= most, "a number is missing or out of range");
  return value.get<std::uint64_t>();
}

bool truth_of(const json& value) {
  demand(value.is_boolean(), "true or false is expected");
  return value.get<bool>();
}

std::chrono::milliseconds time_of(const json& value) {
  constexpr auto most = static_cast<std::uint64_t>(limits::deadline_seconds_max * 1000);
  return std::chrono::milliseconds(number_of(value, most));
}

template <class Read>
auto optional_of(const json& value, Read read) -> std::optional<std::decay_t<decltype(read(value))>> {
  if (value.is_null()) return std::nullopt;
  return read(value);
}

const json& list_of(const json& value, std::size_t least, std::size_t most) {
  demand(value.is_array() && value.size() >= least && value.size() <= most, "a list has a wrong length");
  return value;
}

std::vector<node_slots> nodes_of(const json& value) {
  std::vector<node_slots> nodes;
  for (const json& each : list_of(value, 1, limits::launch_nodes_max)) {
    const member_reader members(each, 2);
    node_slots& node = nodes.emplace_back(node_slots{node_of(members.at("name")), {}});
    for (const json& slot : list_of(members.at("slots"), 1, limits::node_slots_max)) {
      node.slots.push_back(static_cast<std::uint32_t>(number_of(slot, limits::node_slots_max - 1)));
    }
  }
  return nodes;
}

std::vector<std::pair<std::string, std::string>> environment_of(const json& value) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (const json& each : list_of(value, 0, limits::launch_variables_max)) {
    list_of(each, 2, 2);
    environment.emplace_back(text_of(each[0]), text_of(each[1]));
  }
  return environment;
}

error error_of(const json& value) {
  const member_reader members(value, 4);
  const auto code = parse_code(std::to_string(number_of(members.at("code"), UINT16_MAX)));
  demand(code.has_value(), "an error has a code that is none");
  return {*code, text_of(members.at("where")), text_of(members.at("cause")), text_of(members.at("fix"))};
}

launch_setup setup_of(const json& value) {
  const member_reader members(value, 13);
  launch_setup setup;
  setup.nodes = nodes_of(members.at("nodes"));
  setup.driver_node = optional_of(members.at("driver_node"), [&](const json& index) {
    return static_cast<std::size_t>(number_of(index, setup.nodes.size() - 1));
  });
  for (const json& address : list_of(members.at("addresses"), 1, limits::join_addresses_max))
    setup.addresses.push_back(node_of(address));
  setup.port = static_cast<std::uint16_t>(number_of(members.at("port"), UINT16_MAX));
  setup.join_timeout = time_of(members.at("join_timeout_ms"));
  setup.worker_timeout = optional_of(members.at("worker_timeout_ms"), time_of);
  setup.grace = time_of(members.at("grace_ms"));
  setup.allow_shrink = truth_of(members.at("allow_shrink"));
  setup.placement = optional_of(members.at("placement"), text_of);
  setup.environment = environment_of(members.at("environment"));
  setup.bind_cores = truth_of(members.at("bind_cores"));
  setup.log_dir = optional_of(members.at("log_dir"), text_of);
  setup.tee = truth_of(members.at("tee"));
  return setup;
}

launch_message message_of(const json& line) {
  demand(line.is_object() && line.size() == 1, "one member is expected");
  const std::string& kind = line.begin().key();
  const json& value = line.begin().value();
  if (kind == "launch") return setup_of(value);
  if (kind == "joined") return launch_joined{node_of(value)};
  if (kind == "end_asked") return launch_end_asked{node_of(value)};
  if (kind == "stop") return launch_stop{static_cast<int>(number_of(member_reader(value, 1).at("signal"), 64))};
  const member_reader members(value, 2);
  if (kind == "ticket") return launch_ticket{node_of(members.at("node")), text_of(members.at("text"))};
  demand(kind == "agent_failed", "the message is of an unknown kind");
  return launch_agent_failed{node_of(members.at("node")), error_of(members.at("why"))};
}

}  // namespace

expected<std::string> encode(const launch_message& message) try {
  const json made = std::visit([](const auto& each) { return to_json(each); }, message);
  std::string line = made.dump() + "\n";
  if (line.size() > limits::launch_line_bytes_max) return too_long(line.size());
  return line;
} catch (const json::type_error&) {
  return fail(error_code::value_out_of_range, channel_name, "a path or a variable's value is no UTF-8",
              "give it in UTF-8, or do not forward it");
}

expected<launch_message> parse_launch_message(std::string_view line) try {
  if (line.size() > limits::launch_line_bytes_max) return too_long(line.size());
  const json parsed = json::parse(line, nullptr, false);
  if (parsed.is_discarded()) return no_message("a line is no JSON");
  return message_of(parsed);
} catch (const broken_rule& rule) {
  return no_message(rule.what());
}

}  // namespace troupe
