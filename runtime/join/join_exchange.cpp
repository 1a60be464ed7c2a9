#include "runtime/join/join_exchange.hpp"

#include <algorithm>
#include <cstdint>

#include "runtime/join/ticket_bytes.hpp"

namespace troupe {
namespace {

constexpr std::size_t bytes_of_length = 2;

tl::unexpected<error> no_exchange(error_code code, std::string cause) {
  return fail(code, "join message", std::move(cause), "Check that both ends run the same version of Troupe");
}

std::span<const std::uint8_t> octets(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
std::span<const std::uint8_t> octets(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

/// Nothing that ends a line or moves a cursor gets into a log.
bool is_printable(char c) {
  return c >= 0x20 && c < 0x7f;
}

void put_text(ticket_writer& out, std::string_view text) {
  out.number(text.size(), bytes_of_length);
  out.bytes(octets(text));
}

std::string get_text(ticket_reader& in) {
  const auto text = in.bytes(in.number(bytes_of_length));
  return {text.begin(), text.end()};
}

bool fits(const std::string& version, const std::string& name, std::size_t others) {
  return is_version(version) && name.size() <= limits::join_name_bytes_max &&
         1 + version.size() + 1 + name.size() + others <= limits::join_message_bytes_max;
}

}  // namespace

bool is_version(std::string_view text) noexcept {
  return !text.empty() && text.size() <= limits::join_version_bytes_max && std::ranges::all_of(text, is_printable);
}

expected<secret_text> to_bytes(const join_request& said) {
  if (!fits(said.version, said.node, join_secret::size + bytes_of_length + said.request.size()))
    return no_exchange(error_code::wire_too_large, "a request of this length cannot be sent");
  ticket_writer out(limits::join_message_bytes_max);
  out.name(said.version);
  out.name(said.node);
  out.bytes(said.secret.bytes());
  put_text(out, said.request);
  return out.take();
}

expected<secret_text> to_bytes(const join_answer& said) {
  if (!fits(said.version, {}, 2 * bytes_of_length + said.certificate.size() + said.authority.size()))
    return no_exchange(error_code::wire_too_large, "an answer of this length cannot be sent");
  ticket_writer out(limits::join_message_bytes_max);
  out.name(said.version);
  put_text(out, said.certificate);
  put_text(out, said.authority);
  return out.take();
}

expected<join_request> read_join_request(std::span<const std::byte> input) {
  ticket_reader in(octets(input));
  std::string version = in.name();
  std::string node = in.name();
  const auto secret = in.array<join_secret::size>();
  std::string request = get_text(in);
  if (in.is_short() || !in.is_at_end() || !is_version(version) || node.size() > limits::join_name_bytes_max)
    return no_exchange(error_code::wire_malformed, "it is no request to join");
  return join_request{std::move(version), std::move(node), join_secret(secret), std::move(request)};
}

expected<join_answer> read_join_answer(std::span<const std::byte> input) {
  ticket_reader in(octets(input));
  join_answer read;
  read.version = in.name();
  read.certificate = get_text(in);
  read.authority = get_text(in);
  if (in.is_short() || !in.is_at_end() || !is_version(read.version))
    return no_exchange(error_code::wire_malformed, "it is no answer to a request to join");
  return read;
}

}  // namespace troupe
