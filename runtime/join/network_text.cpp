#include "runtime/join/network_text.hpp"

#include <charconv>
#include <optional>

#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/join/peer_name.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

constexpr std::string_view network_prefix = "troupe-network-1";

tl::unexpected<error> no_network() {
  return fail(error_code::wire_malformed, "network of this node", "the text is not what an agent writes",
              "start driver, agents and workers from the same version of Troupe");
}

/// " 5 bytes" at the front, which it takes away.
std::optional<std::string> take_field(std::string_view& rest) {
  if (!rest.starts_with(' ')) return std::nullopt;
  std::size_t size = 0;
  const char* const first = rest.data() + 1;
  const auto [stopped, problem] = std::from_chars(first, rest.data() + rest.size(), size);
  const auto head = static_cast<std::size_t>(stopped - rest.data());
  if (problem != std::errc{} || !rest.substr(head).starts_with(' ') || size > rest.size() - head - 1)
    return std::nullopt;
  std::string found(rest.substr(head + 1, size));
  rest.remove_prefix(head + 1 + size);
  return found;
}

}  // namespace

expected<std::string> node_of_certificate(x509_st* certificate) {
  return peer_name_of(certificate).map([](const peer_name& name) { return name.node(); });
}

std::string to_text(const node_network& network) {
  std::string text(network_prefix);
  for (const std::string* each : {&network.node, &network.address, &network.credentials.certificate,
                                  &network.credentials.key, &network.credentials.ca}) {
    text += ' ' + std::to_string(each->size()) + ' ' + *each;
  }
  return text;
}

expected<node_network> parse_network(std::string_view text) {
  if (!text.starts_with(network_prefix)) return no_network();
  std::string_view rest = text.substr(network_prefix.size());
  node_network made;
  made.node_of = node_of_certificate;
  for (std::string* each :
       {&made.node, &made.address, &made.credentials.certificate, &made.credentials.key, &made.credentials.ca}) {
    auto field = take_field(rest);
    if (!field) return no_network();
    *each = std::move(*field);
  }
  if (!rest.empty()) return no_network();
  return made;
}

expected<node_network> read_network(int descriptor) {
  const unique_fd file(descriptor);
  std::string text(limits::memory_file_bytes_max, '\0');
  const auto got = ::pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) return fail(error_code::process_failed, "network of this node", "its descriptor cannot be read");
  text.resize(static_cast<std::size_t>(got));
  return parse_network(text);
}

}  // namespace troupe
