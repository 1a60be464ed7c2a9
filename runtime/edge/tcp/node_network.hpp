#pragma once

#include <functional>
#include <string>

#include "runtime/edge/tcp/tls_credentials.hpp"
#include <troupe/error.hpp>

struct x509_st;

namespace troupe {

/// What a process shows to processes of other nodes, and where they find it.
struct node_network {
  /// The name in its certificate; empty: the driver's.
  std::string node;
  /// Numeric, of its node: it listens there.
  std::string address;
  tls_credentials credentials;
  /// tcp_endpoint_options::node_of.
  std::function<expected<std::string>(x509_st*)> node_of;
};

}  // namespace troupe
