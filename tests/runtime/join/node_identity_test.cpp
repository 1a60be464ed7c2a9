// Goal: an agent uses a certificate that was issued for its key and its name by the authority of its ticket.
#include "runtime/join/node_identity.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {
namespace {

TEST(node_identity, takes_its_own_certificate_alone) {
  const auto authority = *job_authority::make();
  const auto other = *job_authority::make();
  const auto identity = *node_identity::make();
  const auto another_key = *node_identity::make();
  const auto certificate = *authority.issue(*identity.request(), "a");
  const auto used = [&](const node_identity& by, const std::string& of, const std::string& issuer, const char* name) {
    const auto made = by.credentials(of, issuer, *peer_name::of_node(name));
    return made ? 0 : static_cast<int>(made.error().code);
  };
  EXPECT_EQ(used(identity, certificate, authority.certificate(), "a"), 0);
  EXPECT_EQ(used(identity, certificate, authority.certificate(), "b"), 707);
  EXPECT_EQ(used(another_key, certificate, authority.certificate(), "a"), 707);
  EXPECT_EQ(used(identity, certificate, other.certificate(), "a"), 707);
  EXPECT_EQ(used(identity, "", authority.certificate(), "a"), 702);
  EXPECT_EQ(used(identity, certificate, "", "a"), 702);
}

TEST(node_identity, has_a_key_of_its_own) {
  const auto authority = *job_authority::make();
  EXPECT_NE(joined(authority, "a").key, joined(authority, "a").key);
  // The request has no private key.
  EXPECT_EQ(node_identity::make()->request()->find("PRIVATE"), std::string::npos);
}

TEST(authority_fingerprint, is_found_out_when_one_bit_differs) {
  const auto authority = *job_authority::make();
  EXPECT_TRUE(check_authority(authority.certificate(), authority.fingerprint()));
  for (std::size_t bit = 0; bit < 256; ++bit) {
    auto changed = authority.fingerprint();
    changed[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    const auto checked = check_authority(authority.certificate(), changed);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, error_code::wire_handshake);
  }
  EXPECT_FALSE(check_authority(job_authority::make()->certificate(), authority.fingerprint()));
  EXPECT_EQ(check_authority("no certificate", authority.fingerprint()).error().code, error_code::wire_malformed);
}

}  // namespace
}  // namespace troupe::testing
