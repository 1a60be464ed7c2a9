// Goal: what an authority issues has one name, the given key and nothing else, and OpenSSL accepts it for both roles.
#include "runtime/join/job_authority.hpp"

#include <cstdlib>
#include <ctime>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <openssl/pem.h>

#include "messages/limits.hpp"
#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {
namespace {

using store_pointer = std::unique_ptr<X509_STORE, openssl::freed_with<X509_STORE_free>>;
using store_context_pointer = std::unique_ptr<X509_STORE_CTX, openssl::freed_with<X509_STORE_CTX_free>>;

/// X509_V_OK, or why the authority does not vouch for the certificate.
int verdict(const std::string& authority, const std::string& certificate, int purpose, std::time_t at = 0) {
  const store_pointer store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), certificate_of(authority).get());
  const store_context_pointer context(X509_STORE_CTX_new());
  const auto judged = certificate_of(certificate);
  X509_STORE_CTX_init(context.get(), store.get(), judged.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context.get()), X509_V_FLAG_X509_STRICT);
  if (at != 0) X509_STORE_CTX_set_time(context.get(), 0, at);
  return X509_verify_cert(context.get()) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context.get());
}

std::string subject_of(const std::string& pem) {
  char text[256] = {};
  X509_NAME_oneline(X509_get_subject_name(certificate_of(pem).get()), text, sizeof(text));
  return text;
}

TEST(job_authority, vouches_for_its_members_in_both_roles) {
  const auto authority = *job_authority::make();
  for (const std::string& member :
       {joined(authority, "node-7.example").certificate, authority.make_driver_credentials()->certificate}) {
    for (const int purpose : {X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER})
      EXPECT_EQ(verdict(authority.certificate(), member, purpose), X509_V_OK);
    EXPECT_EQ(X509_check_ca(certificate_of(member).get()), 0);
    EXPECT_EQ(X509_get_extended_key_usage(certificate_of(member).get()), unsigned{XKU_SSL_CLIENT | XKU_SSL_SERVER});
    EXPECT_EQ(X509_get_ext_count(certificate_of(member).get()), 6);
  }
  EXPECT_EQ(X509_check_ca(certificate_of(authority.certificate()).get()), 1);
  EXPECT_EQ(X509_get_pathlen(certificate_of(authority.certificate()).get()), 0);
  EXPECT_THAT(subject_of(authority.certificate()), ::testing::MatchesRegex("/CN=troupe job [0-9a-f]{32}"));
}

TEST(job_authority, does_not_vouch_for_members_of_another) {
  const auto authority = *job_authority::make();
  const auto other = *job_authority::make();
  EXPECT_NE(authority.fingerprint(), other.fingerprint());
  const auto member = joined(other, "a");
  EXPECT_NE(verdict(authority.certificate(), member.certificate, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  // Nor does a member as an authority.
  EXPECT_NE(verdict(member.certificate, joined(other, "b").certificate, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST(job_authority, issues_what_is_valid_as_long_as_itself) {
  const auto authority = *job_authority::make();
  const auto member = joined(authority, "a").certificate;
  const std::time_t now = std::time(nullptr);
  const auto at_hour = [&](int hours) {
    return verdict(authority.certificate(), member, X509_PURPOSE_SSL_SERVER, now + hours * 3600L);
  };
  EXPECT_EQ(at_hour(-23), X509_V_OK);
  EXPECT_EQ(at_hour(-25), X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_EQ(at_hour(30 * 24 - 1), X509_V_OK);
  EXPECT_EQ(at_hour(30 * 24 + 1), X509_V_ERR_CERT_HAS_EXPIRED);
  EXPECT_EQ(ASN1_TIME_compare(X509_get0_notAfter(certificate_of(member).get()),
                              X509_get0_notAfter(certificate_of(authority.certificate()).get())),
            0);
}

TEST(job_authority, takes_names_of_all_kinds_and_no_others) {
  const auto authority = *job_authority::make();
  const std::string request = *node_identity::make()->request();
  const std::string longest(limits::join_name_bytes_max, 'n');
  for (const std::string& name :
       {std::string("gpu-3"), std::string("gpu_3.rack.example.org"), std::string("192.0.2.17"),
        std::string("2001:db8::ff00:42:8329"), std::string("::1"), longest}) {
    const auto issued = authority.issue(request, name);
    ASSERT_TRUE(issued) << name;
    EXPECT_EQ(peer_name_of(certificate_of(*issued).get())->node(), name);
  }
  for (const std::string& name :
       {std::string(), longest + "n", std::string("a,URI:troupe:driver"), std::string("a b"), std::string("a\n"),
        std::string("a\0b", 3), std::string("-a"), std::string("a/b"), std::string("a%b"), std::string("\xc3\xa4")}) {
    const auto issued = authority.issue(request, name);
    ASSERT_FALSE(issued) << name;
    EXPECT_EQ(issued.error().code, error_code::config_bad_value);
  }
}

TEST(job_authority, gives_every_certificate_another_serial_number) {
  const auto authority = *job_authority::make();
  const std::string request = *node_identity::make()->request();
  std::set<std::string> serials;
  for (int i = 0; i < 50; ++i) {
    const auto issued = certificate_of(*authority.issue(request, "a"));
    const openssl::number_pointer serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(issued.get()), nullptr));
    EXPECT_EQ(BN_num_bits(serial.get()), 159);
    char* const text = BN_bn2hex(serial.get());
    serials.insert(text);
    OPENSSL_free(text);
  }
  EXPECT_EQ(serials.size(), 50u);
}

TEST(job_authority, issues_from_several_threads) {
  const auto authority = *job_authority::make();
  std::vector<std::thread> threads;
  std::vector<std::string> names(4);
  for (std::size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&authority, &name = names[i], i] {
      name = peer_name_of(certificate_of(joined(authority, "node" + std::to_string(i)).certificate).get())->node();
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_THAT(names, ::testing::ElementsAre("node0", "node1", "node2", "node3"));
}

/// A process that ends early, such as a driver whose program asks for what cannot be, while nodes join.
TEST(job_authority_at_exit, can_still_be_used_by_threads_that_serve_to_the_end) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // runs after all that OpenSSL registers
        std::atexit([] {
          if (!job_authority::make()) std::_Exit(3);
        });
        std::exit(job_authority::make() ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace troupe::testing
