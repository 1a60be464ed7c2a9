#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/launch/node_filter.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// This machine, as hostfiles may name it.
struct own_host {
  /// From gethostname(2); empty if there is none.
  std::string name;
  /// Numeric addresses of its interfaces, in the spelling of read_node_name, loopback included; no link-local ones,
  /// which mean nothing without an interface.
  std::vector<std::string> addresses;
};

own_host read_own_host();

/// Does the name mean this machine? Its name or an own address; "localhost"; and where one of the two names has no
/// domain, the part before the first dot. Letters may be of either case. No name is looked up.
bool means_host(const std::string& node, const own_host& host);

/// The first node that means this machine.
std::optional<std::size_t> find_own_node(std::span<const node_slots> nodes, const own_host& host);

/// The own address from which packets to the node leave; nothing if it cannot be resolved or reached. Sends nothing to
/// the node. Blocks as long as the resolver does.
std::optional<std::string> address_towards(const std::string& node);

/// Where agents find a driver on this machine, in the order of attempts. `given`: --address; they are all, where there
/// are some. Else the address towards the first node that is not driver_node; the own addresses but those of loopback,
/// where it has none; and the host's name. At most limits::join_addresses_max. E0103 for a given text that is no name
/// and no address, and for too many.
expected<std::vector<std::string>> driver_addresses(std::span<const std::string> given,
                                                    std::span<const node_slots> nodes,
                                                    std::optional<std::size_t> driver_node, const own_host& host);

}  // namespace troupe
