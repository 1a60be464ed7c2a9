#include "runtime/launcher/own_host.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/launch/node_name.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

/// Empty for addresses of other families than IPv4 and IPv6, and for link-local ones.
std::string text_of_address(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    const bool is_link_local = (ntohl(v4.sin_addr.s_addr) >> 16U) == 0xA9FEU;
    if (is_link_local || ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size()) == nullptr) return {};
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return {};
    if (::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size()) == nullptr) return {};
  }
  return text.data();
}

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

bool are_equal_names(const std::string& one, const std::string& other) {
  return ::strcasecmp(one.c_str(), other.c_str()) == 0;
}

std::string without_domain(const std::string& name) {
  return name.substr(0, name.find('.'));
}

bool has_domain(const std::string& name) {
  return name.find('.') != std::string::npos;
}

void add_address(std::vector<std::string>& to, const std::string& address) {
  const bool is_name = read_node_name(address).has_value();
  if (is_name && to.size() < limits::join_addresses_max && std::ranges::find(to, address) == to.end())
    to.push_back(address);
}

expected<std::vector<std::string>> read_addresses(std::span<const std::string> given) {
  if (given.size() > limits::join_addresses_max) {
    return fail(error_code::value_out_of_range, "--address",
                fmt::format("{} addresses, {} are permitted", given.size(), limits::join_addresses_max),
                "give those that the nodes can reach");
  }
  std::vector<std::string> addresses;
  for (const std::string& text : given) {
    const auto name = read_node_name(text);
    if (!name) {
      return fail(error_code::value_out_of_range, character_place("--address", name.error().at), name.error().cause,
                  "give the name or the address of this host, without a port");
    }
    addresses.push_back(*name);
  }
  return addresses;
}

}  // namespace

own_host read_own_host() {
  own_host host;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) host.name = name.data();
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return host;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    std::string text = text_of_address(*each->ifa_addr);
    if (!text.empty()) host.addresses.push_back(std::move(text));
  }
  return host;
}

bool means_host(const std::string& node, const own_host& host) {
  if (node == "localhost" || std::ranges::find(host.addresses, node) != host.addresses.end()) return true;
  if (host.name.empty()) return false;
  if (are_equal_names(node, host.name)) return true;
  // the digits of an address are no name with a domain
  const bool is_address = node.find_first_not_of("0123456789.") == std::string::npos || node.find(':') != node.npos;
  if (is_address || (has_domain(node) && has_domain(host.name))) return false;
  return are_equal_names(without_domain(node), without_domain(host.name));
}

std::optional<std::size_t> find_own_node(std::span<const node_slots> nodes, const own_host& host) {
  const auto found = std::ranges::find_if(nodes, [&](const node_slots& node) { return means_host(node.name, host); });
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::optional<std::string> address_towards(const std::string& node) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  // connecting a datagram socket chooses a route, and sends nothing; any port will do
  if (::getaddrinfo(node.c_str(), "9", &hints, &first) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(first, &::freeaddrinfo);
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    const unique_fd socket(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (!socket || ::connect(socket.get(), each->ai_addr, each->ai_addrlen) != 0) continue;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    std::string text = text_of_address(reinterpret_cast<const sockaddr&>(own));
    if (!text.empty()) return text;
  }
  return std::nullopt;
}

expected<std::vector<std::string>> driver_addresses(std::span<const std::string> given,
                                                    std::span<const node_slots> nodes,
                                                    std::optional<std::size_t> driver_node, const own_host& host) {
  if (!given.empty()) return read_addresses(given);
  std::vector<std::string> addresses;
  const bool has_remote = nodes.size() > (driver_node ? 1U : 0U);
  if (has_remote) {
    const std::size_t remote = driver_node == std::size_t{0} ? 1 : 0;
    if (const auto towards = address_towards(nodes[remote].name)) add_address(addresses, *towards);
  }
  if (addresses.empty()) {
    for (const std::string& address : host.addresses) {
      if (addresses.size() + 1 < limits::join_addresses_max && !is_loopback(address)) add_address(addresses, address);
    }
  }
  if (!host.name.empty()) add_address(addresses, host.name);
  if (addresses.empty()) addresses.emplace_back("127.0.0.1");
  return addresses;
}

}  // namespace troupe
