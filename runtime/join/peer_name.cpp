#include "runtime/join/peer_name.hpp"

#include <openssl/err.h>

#include "messages/try.hpp"
#include "runtime/join/node_name.hpp"
#include "runtime/join/openssl_objects.hpp"

namespace troupe {
namespace {

constexpr std::string_view driver_uri = "troupe:driver";
constexpr std::string_view node_uri_start = "troupe:node:";

tl::unexpected<error> refused(std::string cause) {
  return fail(error_code::wire_handshake, "certificate of a peer", std::move(cause),
              "Let the peer join this job with a ticket of its own");
}

/// Its only alternative name. The view lives as long as `names`.
expected<std::string_view> only_uri_of(const GENERAL_NAMES* names) {
  if (sk_GENERAL_NAME_num(names) != 1)
    return refused("has " + std::to_string(sk_GENERAL_NAME_num(names)) + " names instead of one");
  int kind = 0;
  const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, 0), &kind);
  if (kind != GEN_URI) return refused("has a name that is no URI");
  const auto* text = static_cast<const ASN1_STRING*>(value);
  return std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                          static_cast<std::size_t>(ASN1_STRING_length(text)));
}

}  // namespace

expected<peer_name> peer_name::of_node(std::string_view name) {
  if (is_node_name(name)) return peer_name(std::string(name));
  return fail(error_code::config_bad_value, "name of a node",
              "it is no host name, no numeric address and nothing else of letters, digits, '.', '-', '_' and ':'",
              "Name the node by 1 to 253 of these characters, of which the first is no '-' and no '.'");
}

std::string peer_name::uri() const {
  return is_driver() ? std::string(driver_uri) : std::string(node_uri_start) + node_;
}

expected<peer_name> peer_name_of(x509_st* certificate) {
  if (certificate == nullptr) return refused("none was shown");
  if (X509_check_ca(certificate) != 0) return refused("belongs to an authority");
  // -1: there is no such extension; -2: there are several. Both give no names, as does one that cannot be read.
  int found = 0;
  const openssl::names_pointer names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, nullptr)));
  ERR_clear_error();
  if (names == nullptr) return refused(found == -1 ? "has no name" : "has names that cannot be read");
  const auto uri = TROUPE_TRY(only_uri_of(names.get()));
  if (uri == driver_uri) return peer_name::driver();
  if (!uri.starts_with(node_uri_start) || !is_node_name(uri.substr(node_uri_start.size())))
    return refused("has a name that is neither the driver's nor a node's");
  return peer_name::of_node(uri.substr(node_uri_start.size()));
}

expected<std::string> node_of(x509_st* certificate) {
  return peer_name_of(certificate).map([](const peer_name& name) { return name.node(); });
}

}  // namespace troupe
