#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe {

/// SHA-256 over the authority's certificate in DER: what a join ticket says of the authority. No secret.
using authority_fingerprint = std::array<std::uint8_t, 32>;

/// E0702 unless the text is one certificate in PEM. From any thread.
[[nodiscard]] expected<authority_fingerprint> fingerprint_of(std::string_view certificate_pem);

/// Whether that certificate is the one of the ticket: E0707 if not, and E0702 as above. The time of the comparison does
/// not depend on where the two differ. From any thread.
[[nodiscard]] expected<void> check_authority(std::string_view certificate_pem,
                                             const authority_fingerprint& expected_fingerprint);

}  // namespace troupe
