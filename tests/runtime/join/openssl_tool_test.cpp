// Goal: the tool that administrators have agrees with us on chain, name and fingerprint.
#include <array>
#include <cstdio>
#include <memory>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct tool_result {
  int status = -1;
  std::string text;
};

tool_result openssl_tool(const std::string& arguments) {
  FILE* const pipe = ::popen(("openssl " + arguments + " 2>&1").c_str(), "r");
  tool_result result;
  std::array<char, 1024> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) result.text += part.data();
  result.status = ::pclose(pipe);
  return result;
}

class openssl_tool_of_the_host : public ::testing::Test {
 protected:
  void SetUp() override {
    if (openssl_tool("version").status != 0) GTEST_SKIP() << "no tool openssl is installed";
  }
  job_authority authority = *job_authority::make();
  scratch_directory scratch;
  std::string ca = scratch.file("ca.pem", authority.certificate());
};

TEST_F(openssl_tool_of_the_host, verifies_the_chain_for_both_roles) {
  const std::string node = scratch.file("node.pem", joined(authority, "2001:db8::1").certificate);
  const std::string driver = scratch.file("driver.pem", authority.make_driver_credentials()->certificate);
  const std::string untrusted = scratch.file("untrusted.pem", joined(*job_authority::make(), "a").certificate);
  for (const std::string role : {"sslserver", "sslclient"}) {
    const std::string verify = "verify -x509_strict -check_ss_sig -purpose " + role + " -CAfile " + ca + " ";
    EXPECT_EQ(openssl_tool(verify + node).status, 0) << openssl_tool(verify + node).text;
    EXPECT_EQ(openssl_tool(verify + driver).status, 0) << openssl_tool(verify + driver).text;
    EXPECT_NE(openssl_tool(verify + untrusted).status, 0);
  }
}

TEST_F(openssl_tool_of_the_host, shows_the_name_and_no_right_to_sign) {
  const std::string node = scratch.file("node.pem", joined(authority, "2001:db8::1").certificate);
  const std::string text = openssl_tool("x509 -noout -text -in " + node).text;
  EXPECT_THAT(text, HasSubstr("URI:troupe:node:2001:db8::1\n"));
  EXPECT_THAT(text, HasSubstr("CA:FALSE"));
  EXPECT_THAT(text, HasSubstr("TLS Web Server Authentication, TLS Web Client Authentication"));
  EXPECT_THAT(text, Not(HasSubstr("Certificate Sign")));
  EXPECT_THAT(text, HasSubstr("NIST CURVE: P-256"));
}

TEST_F(openssl_tool_of_the_host, computes_the_same_fingerprint) {
  std::string text = "sha256 Fingerprint=";
  for (const std::uint8_t byte : authority.fingerprint()) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02X:", byte);
    text += digits.data();
  }
  text.back() = '\n';
  EXPECT_EQ(openssl_tool("x509 -noout -fingerprint -sha256 -in " + ca).text, text);
}

TEST_F(openssl_tool_of_the_host, verifies_the_request_of_a_node) {
  const std::string request = scratch.file("request.pem", *node_identity::make()->request());
  const tool_result result = openssl_tool("req -verify -noout -text -in " + request);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.text, HasSubstr("verify OK"));
  EXPECT_THAT(result.text, HasSubstr("Subject: \n"));
}

}  // namespace
}  // namespace troupe::testing
