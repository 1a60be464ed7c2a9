// Goal: after a handshake of TLS 1.3 each end knows which node the other is; untrusted and expired peers have none.
#include <ctime>

#include <gtest/gtest.h>

#include "runtime/join/signing.hpp"
#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {
namespace {

TEST(tls_names, each_end_knows_the_other) {
  const auto authority = *job_authority::make();
  const auto driver = *authority.make_driver_credentials();
  const auto node = joined(authority, "gpu-3");
  const auto forth = shake_hands(node, driver);
  EXPECT_TRUE(forth.both_accepted);
  EXPECT_EQ(forth.client_sees, "troupe:driver");
  EXPECT_EQ(forth.server_sees, "troupe:node:gpu-3");
  const auto back = shake_hands(driver, node);
  EXPECT_TRUE(back.both_accepted);
  EXPECT_EQ(back.client_sees, "troupe:node:gpu-3");
  EXPECT_EQ(back.server_sees, "troupe:driver");
}

TEST(tls_names, another_node_of_the_job_is_found_out) {
  const auto authority = *job_authority::make();
  const auto found = shake_hands(joined(authority, "a"), joined(authority, "driver"));
  EXPECT_TRUE(found.both_accepted);
  EXPECT_NE(found.client_sees, peer_name::driver().uri());
  EXPECT_NE(found.server_sees, peer_name::of_node("b")->uri());
}

TEST(tls_names, a_member_of_another_job_is_refused) {
  const auto authority = *job_authority::make();
  const auto other = *job_authority::make();
  const auto driver = *authority.make_driver_credentials();
  tls_credentials untrusted = joined(other, "gpu-3");
  EXPECT_FALSE(shake_hands(untrusted, driver).both_accepted);
  // One that trusts us, but whom we do not know: the refusal is ours.
  untrusted.ca = authority.certificate();
  EXPECT_FALSE(shake_hands(untrusted, driver).both_accepted);
  EXPECT_FALSE(shake_hands(driver, untrusted).both_accepted);
}

TEST(tls_names, a_member_cannot_sign_a_driver) {
  const auto authority = *job_authority::make();
  const auto node = joined(authority, "a");
  const auto node_key = private_key_of(node.key);
  const auto node_certificate = certificate_of(node.certificate);
  const auto key = openssl::make_key();
  const auto forged = openssl::sign_member(key.get(), peer_name::driver(), node_certificate.get(), node_key.get());
  const tls_credentials posing{*openssl::to_pem(forged->get()) + node.certificate, *openssl::to_pem(key.get()),
                               authority.certificate()};
  EXPECT_FALSE(shake_hands(joined(authority, "b"), posing).both_accepted);
  EXPECT_FALSE(shake_hands(posing, *authority.make_driver_credentials()).both_accepted);
}

TEST(tls_names, expired_and_future_certificates_are_refused) {
  const auto authority = *job_authority::make();
  const auto driver = *authority.make_driver_credentials();
  const auto node = joined(authority, "a");
  const std::time_t now = std::time(nullptr);
  EXPECT_TRUE(shake_hands(node, driver, now + 29 * 24 * 3600).both_accepted);
  EXPECT_FALSE(shake_hands(node, driver, now + 31 * 24 * 3600).both_accepted);
  EXPECT_FALSE(shake_hands(node, driver, now - 2 * 24 * 3600).both_accepted);
}

}  // namespace
}  // namespace troupe::testing
