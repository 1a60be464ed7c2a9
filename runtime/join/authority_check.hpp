#pragma once

#include <cstdint>

#include "runtime/join/fingerprint.hpp"

struct x509_store_ctx_st;

namespace troupe {

enum class chain_verdict {
  right,
  other_authority,  ///< the authority of the ticket is not in the chain
  not_valid_now,    ///< it is, and by the clock of this node it is not valid
  unusable,         ///< it is, but what it should have signed is not right
};

/// Verifies the chain that a server showed as OpenSSL does, with the one authority of this fingerprint as the only one
/// that is believed, at a time in seconds since 1970. For tls_context::make_nameless(). From any thread.
[[nodiscard]] chain_verdict judge_chain(x509_store_ctx_st* chain, const authority_fingerprint& authority,
                                        std::int64_t now);

}  // namespace troupe
