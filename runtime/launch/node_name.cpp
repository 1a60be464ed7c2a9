#include "runtime/launch/node_name.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "messages/limits.hpp"
#include "runtime/launch/launch_text.hpp"

namespace troupe {
namespace {

using read_name = tl::expected<std::string, name_fault>;

tl::unexpected<name_fault> bad_name(std::size_t at, std::string cause, std::string fix = {}) {
  return tl::make_unexpected(name_fault{at, std::move(cause), std::move(fix)});
}

/// In names that the fix repeats no byte needs quotes.
bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_name_byte);
}

tl::unexpected<name_fault> names_a_user(std::string_view text, std::size_t at) {
  const std::string_view user = text.substr(0, at);
  const std::string_view host = text.substr(at + 1);
  std::string fix;
  if (is_plain(user) && is_plain(host)) {
    fix = fmt::format(
        "write {1}, and give the user to ssh: --ssh \"ssh -o BatchMode=yes -l {0}\", or for this node \"Host {1}\" and "
        "\"User {0}\" in ~/.ssh/config",
        user, host);
  }
  return bad_name(at, fmt::format("a node's name has no '@', and no user before it: {}", quote_text(text)),
                  std::move(fix));
}

/// "NAME:NUMBER", which other launchers read as slots or as the port of ssh.
tl::unexpected<name_fault> has_a_number(std::string_view text, std::size_t at) {
  const std::string_view host = text.substr(0, at);
  const std::string_view number = text.substr(at + 1);
  constexpr std::uint64_t port_max = 65535;
  const std::uint64_t value = read_digits(number).value_or(0);
  std::string fix;
  if (is_plain(host) && value >= 1 && value <= port_max) {
    fix = fmt::format(
        "give a port to ssh: --ssh \"ssh -o BatchMode=yes -p {1}\", or for this node \"Host {0}\" and \"Port {1}\" "
        "in ~/.ssh/config",
        host, value);
    if (value <= limits::node_slots_max)
      fix = fmt::format("write \"{} slots={}\" if it counts slots, or ", host, value) + fix;
  }
  return bad_name(at, fmt::format("a node's name has no ':', and no number behind it: {}", quote_text(text)),
                  std::move(fix));
}

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// The zone behind '%': the name of a network interface, which has at most 15 bytes.
tl::expected<void, name_fault> check_zone(std::string_view zone, std::size_t at) {
  constexpr std::size_t zone_bytes_max = 15;
  if (zone.empty() || zone.size() > zone_bytes_max || !std::ranges::all_of(zone, is_name_byte))
    return bad_name(at, quote_text(zone) + " is no zone of an IPv6 address");
  return {};
}

read_name read_ipv6(std::string_view text, std::size_t at) {
  const std::size_t percent = std::min(text.find('%'), text.size());
  const std::string address(text.substr(0, percent));
  const auto odd = std::ranges::find_if(address, [](char c) { return !is_hexadecimal(c) && c != ':' && c != '.'; });
  if (odd != address.end()) {
    return bad_name(at + static_cast<std::size_t>(odd - address.begin()),
                    fmt::format("an IPv6 address has no {}", quote_text({&*odd, 1})));
  }
  in6_addr bytes{};
  std::array<char, INET6_ADDRSTRLEN> shortest{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1 ||
      ::inet_ntop(AF_INET6, &bytes, shortest.data(), shortest.size()) == nullptr)
    return bad_name(at, quote_text(address) + " is no IPv6 address");
  if (percent == text.size()) return std::string(shortest.data());
  const std::string_view zone = text.substr(percent + 1);
  return check_zone(zone, at + percent + 1).map([&] { return fmt::format("{}%{}", shortest.data(), zone); });
}

read_name read_bracketed(std::string_view text) {
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return bad_name(text.size(), "']' is missing");
  if (end + 1 < text.size()) {
    return bad_name(
        end + 1, quote_text(text.substr(end + 1)) + " stands behind ']'",
        text[end + 1] == ':' ? "leave out what is behind ']'; a port goes to ssh, with \"Port\" in ~/.ssh/config" : "");
  }
  return read_ipv6(text.substr(1, end - 1), 1);
}

tl::expected<void, name_fault> check_labels(std::string_view text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    if (dot == at) return bad_name(at, "a part of the name between dots is empty");
    if (dot - at > limits::node_label_bytes_max)
      return bad_name(at, fmt::format("a part of the name has more than {} bytes", limits::node_label_bytes_max));
    at = dot + 1;
  }
  return {};
}

read_name read_host(std::string_view text) {
  const auto odd = std::ranges::find_if_not(text, is_name_byte);
  if (odd != text.end() && *odd == '@') return names_a_user(text, static_cast<std::size_t>(odd - text.begin()));
  if (odd != text.end() && *odd == ':') return has_a_number(text, static_cast<std::size_t>(odd - text.begin()));
  if (odd != text.end()) {
    return bad_name(static_cast<std::size_t>(odd - text.begin()),
                    fmt::format("a node's name has no {}", quote_text({&*odd, 1})));
  }
  if (text.front() == '-') return bad_name(0, "a node's name does not start with '-'");
  if (text.size() > limits::node_name_bytes_max)
    return bad_name(limits::node_name_bytes_max,
                    fmt::format("a node's name has at most {} bytes", limits::node_name_bytes_max));
  if (auto checked = check_labels(text); !checked) return tl::make_unexpected(std::move(checked.error()));
  std::string name(text);
  in_addr bytes{};
  if (text.find_first_not_of("0123456789.") == std::string_view::npos &&
      ::inet_pton(AF_INET, name.c_str(), &bytes) != 1)
    return bad_name(0, quote_text(text) + " is no IPv4 address");
  return name;
}

}  // namespace

bool is_name_byte(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

read_name read_node_name(std::string_view text) {
  if (text.empty()) return bad_name(0, "a node's name is missing");
  if (text.front() == '[') return read_bracketed(text);
  // An IPv6 address has two at least.
  const bool is_ipv6 = std::ranges::count(text, ':') >= 2 && text.find('@') == std::string_view::npos;
  return is_ipv6 ? read_ipv6(text, 0) : read_host(text);
}

}  // namespace troupe
