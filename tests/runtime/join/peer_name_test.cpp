// Goal: a certificate tells one name of the job's scheme, or none at all.
#include "runtime/join/peer_name.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {
namespace {

/// The name, or why there is none.
std::string said(const std::string& pem) {
  const auto name = peer_name_of(certificate_of(pem).get());
  if (name) return name->is_driver() ? "the driver" : "node " + name->node();
  EXPECT_EQ(name.error().code, error_code::wire_handshake);
  return name.error().cause;
}

TEST(peer_name, is_the_only_name_of_a_certificate) {
  EXPECT_EQ(said(certificate_named("URI:troupe:node:gpu-3.example")), "node gpu-3.example");
  EXPECT_EQ(said(certificate_named("URI:troupe:node:2001:db8::1")), "node 2001:db8::1");
  EXPECT_EQ(said(certificate_named("URI:troupe:node:driver")), "node driver");
  EXPECT_EQ(said(certificate_named("URI:troupe:driver")), "the driver");
}

TEST(peer_name, is_missing_from_all_other_certificates) {
  EXPECT_EQ(said(certificate_named("")), "has no name");
  EXPECT_EQ(said(certificate_named("URI:troupe:node:a,URI:troupe:node:b")), "has 2 names instead of one");
  EXPECT_EQ(said(certificate_named("URI:troupe:node:a,URI:troupe:driver")), "has 2 names instead of one");
  EXPECT_EQ(said(certificate_named("URI:troupe:node:a,DNS:a")), "has 2 names instead of one");
  EXPECT_EQ(said(certificate_named("URI:troupe:node:a;URI:troupe:driver")), "has names that cannot be read");
  EXPECT_EQ(said(certificate_named("DNS:troupe.driver")), "has a name that is no URI");
  EXPECT_EQ(said(certificate_named("email:a@b.c")), "has a name that is no URI");
  EXPECT_EQ(said(certificate_named("URI:troupe:driver", true)), "belongs to an authority");
  for (const char* uri : {"troupe:driver2", "troupe:drive", "Troupe:driver", "troupe:node:", "troupe:node:-a",
                          "troupe:node:a b", "troupe:node:a%20b", "xtroupe:node:a", "troupe:node", "troupe:agent:a"}) {
    EXPECT_EQ(said(certificate_named(std::string("URI:") + uri)),
              "has a name that is neither the driver's nor a node's")
        << uri;
  }
  EXPECT_EQ(said(certificate_named("URI:troupe:node:" + std::string(254, 'a'))),
            "has a name that is neither the driver's nor a node's");
}

TEST(peer_name, with_a_zero_byte_is_none) {
  const auto certificate = certificate_of(certificate_named("URI:troupe:node:a"));
  const openssl::extension_pointer taken_out(
      X509_delete_ext(certificate.get(), X509_get_ext_by_NID(certificate.get(), NID_subject_alt_name, -1)));
  ASSERT_NE(taken_out, nullptr);
  const openssl::names_pointer names(GENERAL_NAMES_new());
  GENERAL_NAME* const name = GENERAL_NAME_new();
  ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
  ASN1_STRING_set(text, "troupe:driver\0.evil", 19);
  GENERAL_NAME_set0_value(name, GEN_URI, text);
  sk_GENERAL_NAME_push(names.get(), name);
  X509_add1_ext_i2d(certificate.get(), NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT);
  EXPECT_EQ(peer_name_of(certificate.get()).error().cause, "has a name that is neither the driver's nor a node's");
}

TEST(peer_name, needs_a_certificate) {
  EXPECT_EQ(peer_name_of(nullptr).error().code, error_code::wire_handshake);
}

TEST(peer_name, of_a_node_is_never_the_driver) {
  EXPECT_FALSE(peer_name::of_node(""));
  for (const char* text : {"driver", "troupe:driver", ":driver"}) {
    const auto name = peer_name::of_node(text);
    ASSERT_TRUE(name);
    EXPECT_NE(*name, peer_name::driver());
    EXPECT_NE(name->uri(), peer_name::driver().uri());
  }
}

}  // namespace
}  // namespace troupe::testing
