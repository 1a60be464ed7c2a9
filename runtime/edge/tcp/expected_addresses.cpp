#include "runtime/edge/tcp/expected_addresses.hpp"

#include <algorithm>
#include <system_error>

#include "messages/limits.hpp"

namespace troupe {

asio::ip::address origin_of(const asio::ip::address& address) {
  constexpr std::size_t network_bytes = 8;
  if (!address.is_v6()) return address;
  const asio::ip::address_v6 own = address.to_v6();
  if (own.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, own);
  auto bytes = own.to_bytes();
  std::fill(bytes.begin() + network_bytes, bytes.end(), 0);
  return asio::ip::address_v6(bytes);
}

bool expected_addresses::add(const std::string& numeric) {
  std::error_code failed;
  const auto address = asio::ip::make_address(numeric, failed);
  if (failed) return false;
  const std::lock_guard lock{mutex_};
  const auto origin = origin_of(address);
  if (origins_.size() >= limits::launch_nodes_max && !origins_.contains(origin)) return false;
  origins_.insert(origin);
  return true;
}

bool expected_addresses::has(const asio::ip::address& origin) const {
  const std::lock_guard lock{mutex_};
  return origins_.contains(origin);
}

}  // namespace troupe
