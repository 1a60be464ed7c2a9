#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <troupe/error.hpp>

struct x509_st;

namespace troupe {

/// The holder of a certificate of a job: its driver, or one node, whose name is 1 to 253 letters, digits and "-._:"
/// (is_node_name() of runtime/launch/node_name.hpp). A certificate has the name as its only subject
/// alternative name (RFC 5280, section 4.2.1.6), a URI of a private scheme: "troupe:driver", or "troupe:node:" and the
/// node's name. The characters of is_node_name() stand for themselves in a URI, so nothing is escaped, and no node is
/// called as the driver is.
class peer_name {
 public:
  [[nodiscard]] static peer_name driver() { return peer_name({}); }
  /// E0404 unless is_node_name(name).
  [[nodiscard]] static expected<peer_name> of_node(std::string_view name);

  [[nodiscard]] bool is_driver() const noexcept { return node_.empty(); }
  /// Empty for the driver.
  [[nodiscard]] const std::string& node() const noexcept { return node_; }
  [[nodiscard]] std::string uri() const;
  friend bool operator==(const peer_name&, const peer_name&) = default;

 private:
  explicit peer_name(std::string node) noexcept : node_(std::move(node)) {}

  std::string node_;
};

/// The name in a certificate that a peer showed. Whether the job's authority signed it, and when it is valid, is for
/// the TLS handshake to find out, before this. `certificate`: OpenSSL's X509; null for a peer that showed none. E0707
/// for none, for an authority's certificate, and unless there is exactly one name, of the form above. From any thread.
[[nodiscard]] expected<peer_name> peer_name_of(x509_st* certificate);

/// The same as the node's name, empty for the driver: what a tcp_endpoint compares (tcp_endpoint_options::node_of).
[[nodiscard]] expected<std::string> node_of(x509_st* certificate);

}  // namespace troupe
