#pragma once

#include <openssl/types.h>

namespace troupe {

/// AES-GCM of Intel's ipsec-mb for OpenSSL, as a provider (provider-cipher(7)): OpenSSL 3.0's own uses the processor's
/// AES one block at a time, this one four with VAES. TLS itself stays OpenSSL's, and so do all other ciphers.
/// Threads: any.

/// A library context with this provider beside OpenSSL's default one. Made once, and never freed. Null, which means
/// OpenSSL's own context, where the processor has no VAES or OpenSSL cannot load them.
[[nodiscard]] OSSL_LIB_CTX* gcm_library() noexcept;

/// A property query for gcm_library(): this provider's ciphers come first.
inline constexpr const char* gcm_properties = "?provider=troupe";

}  // namespace troupe
