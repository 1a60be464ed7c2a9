// Goal: a ticket's text comes back as the same ticket or not at all, and no error shows the secret.
#include "runtime/join/join_ticket.hpp"

#include <random>

#include <gmock/gmock.h>
#include <openssl/evp.h>

#include "runtime/join/base64url.hpp"
#include "tests/runtime/join/ticket_samples.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// The text of any binary form, with a checksum that is right: an independent reading of the layout in the header.
std::string sealed(std::string binary, const std::string& prefix = "troupe-join-2:") {
  const std::string all = prefix + binary;
  std::array<unsigned char, 32> digest{};
  EVP_Digest(all.data(), all.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  binary.append(reinterpret_cast<const char*>(digest.data()), 4);
  return prefix +
         std::string(to_base64url({reinterpret_cast<const std::uint8_t*>(binary.data()), binary.size()}).view());
}

std::string counting() {
  std::string bytes(32, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

const std::string head_bytes = std::string(32, '\xa5') + counting();
/// 1 799 999 940 is 0x6b49d1c4, 1 800 000 000 is 0x6b49d200; 7000 is 0x1b58.
const std::string issue_bytes("\0\0\0\0\x6b\x49\xd1\xc4", 8);
const std::string expiry_bytes = issue_bytes + std::string("\0\0\0\0\x6b\x49\xd2\0", 8);
const std::string port_bytes = "\x1b\x58";
const std::string node_bytes = "\x05gpu-3";
const std::string addresses_bytes =
    "\x02\x0e"
    "driver.example\x09"
    "192.0.2.1";

std::string cause_of(const std::string& text) {
  const auto parsed = parse_join_ticket(text);
  if (parsed) return "none";
  EXPECT_EQ(parsed.error().code, error_code::config_bad_value);
  return to_string(parsed.error());
}

TEST(join_ticket, has_the_layout_of_its_header) {
  EXPECT_EQ(text_of(sample_ticket()), sealed(head_bytes + expiry_bytes + port_bytes + node_bytes + addresses_bytes));
}

TEST(join_ticket, comes_back_from_its_text) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    const join_ticket ticket = random_ticket(random);
    const std::string text = text_of(ticket);
    EXPECT_EQ(text.find_first_of(" \t\r\n"), std::string::npos);
    const auto back = parse_join_ticket(text);
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(parts_of(*back), parts_of(ticket));
  }
}

TEST(join_ticket, of_the_greatest_size_comes_back) {
  join_ticket ticket = sample_ticket();
  ticket.node = std::string(limits::join_name_bytes_max, 'n');
  ticket.target.addresses.assign(limits::join_addresses_max, ticket.node);
  EXPECT_EQ(parts_of(*parse_join_ticket(text_of(ticket))), parts_of(ticket));
}

TEST(join_ticket, may_have_white_space_around_it) {
  EXPECT_TRUE(parse_join_ticket("  " + text_of(sample_ticket()) + "\r\n"));
  EXPECT_FALSE(parse_join_ticket(text_of(sample_ticket()).insert(40, "\n")));
}

TEST(join_ticket, with_one_other_character_is_refused) {
  const std::string text = text_of(sample_ticket());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[at] = static_cast<char>(c);
      if (changed != text) {
        ASSERT_FALSE(parse_join_ticket(changed)) << at << " " << c;
      }
    }
    ASSERT_FALSE(parse_join_ticket(std::string(text).erase(at, 1)));
    ASSERT_FALSE(parse_join_ticket(std::string(text).insert(at, "A")));
    ASSERT_FALSE(parse_join_ticket(text.substr(0, at)));
  }
  EXPECT_FALSE(parse_join_ticket(text + "A"));
  EXPECT_FALSE(parse_join_ticket(text + text));
}

TEST(join_ticket, errors_name_what_is_wrong) {
  const std::string good = head_bytes + expiry_bytes + port_bytes + node_bytes + addresses_bytes;
  EXPECT_THAT(cause_of(" \n"), HasSubstr("it is empty"));
  EXPECT_THAT(cause_of(std::string(limits::join_ticket_bytes_max + 1, ' ')), HasSubstr("4097 bytes"));
  EXPECT_THAT(cause_of("ticket"), HasSubstr("does not begin with troupe-join-"));
  EXPECT_THAT(cause_of(sealed(good, "troupe-join-1:")), HasSubstr("version is not 2"));
  EXPECT_THAT(cause_of("troupe-join-2:AAA!"), HasSubstr("its character 18 "));
  EXPECT_THAT(cause_of("troupe-join-2:"), HasSubstr("cut short"));
  EXPECT_THAT(cause_of("troupe-join-2:AAAAAAAA"), HasSubstr("checksum"));
  EXPECT_THAT(cause_of(sealed("")), HasSubstr("cut short"));
  EXPECT_THAT(cause_of(sealed(good + "x")), HasSubstr("goes on after its last address"));
  EXPECT_THAT(cause_of(sealed(head_bytes + expiry_bytes + std::string(2, '\0') + node_bytes + addresses_bytes)),
              HasSubstr("port is 0"));
  EXPECT_THAT(cause_of(sealed(head_bytes + expiry_bytes + port_bytes + "\x01/" + addresses_bytes)),
              HasSubstr("name of its node is none"));
  EXPECT_THAT(cause_of(sealed(head_bytes + expiry_bytes + port_bytes + node_bytes + '\0')), HasSubstr("0 addresses"));
  EXPECT_THAT(cause_of(sealed(head_bytes + expiry_bytes + port_bytes + node_bytes + "\x09")),
              HasSubstr("too many addresses"));
  EXPECT_THAT(cause_of(sealed(head_bytes + expiry_bytes + port_bytes + node_bytes + "\x01\x01\n")),
              HasSubstr("address 1 is none"));
  for (const std::string& wrong : {std::string(8, '\0'), std::string(8, '\xff'), std::string(8, '\x7f')})
    EXPECT_THAT(cause_of(sealed(head_bytes + issue_bytes + wrong + port_bytes + node_bytes + addresses_bytes)),
                HasSubstr("expiry"));
  // as late as the expiry or later, before 1970, and more than 30 days before the expiry
  for (const std::string& wrong : {std::string("\0\0\0\0\x6b\x49\xd2\0", 8), std::string(8, '\xff'),
                                   std::string(8, '\x7f'), std::string("\0\0\0\0\x6b\x22\x44\xff", 8)})
    EXPECT_THAT(
        cause_of(sealed(head_bytes + wrong + expiry_bytes.substr(8) + port_bytes + node_bytes + addresses_bytes)),
        HasSubstr("the time when it was made"));
}

TEST(join_ticket, that_ends_anywhere_is_cut_short_even_with_a_right_checksum) {
  const std::string good = head_bytes + expiry_bytes + port_bytes + node_bytes + addresses_bytes;
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(cause_of(sealed(good.substr(0, size))), "none");
}

TEST(join_ticket, errors_show_nothing_of_it) {
  const std::string text = text_of(sample_ticket());
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    for (int n = 0; n < 3; ++n) changed[random() % changed.size()] = static_cast<char>(random());
    const std::string cause = cause_of(changed);
    for (std::size_t at = 14; at + 8 <= text.size(); ++at)
      ASSERT_EQ(cause.find(text.substr(at, 8)), std::string::npos) << cause;
  }
}

TEST(join_ticket, of_random_bytes_is_refused) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    ASSERT_FALSE(parse_join_ticket(bytes));
    ASSERT_FALSE(parse_join_ticket("troupe-join-2:" + bytes));
    // Behind the checksum, names and sizes are what they may.
    const auto parsed = parse_join_ticket(sealed(bytes));
    if (parsed) {
      EXPECT_EQ(text_of(*parsed), sealed(bytes));
    }
  }
}

TEST(join_ticket, that_breaks_a_rule_has_no_text) {
  const auto refuses = [](auto change) {
    join_ticket ticket = sample_ticket();
    change(ticket);
    const auto text = to_text(ticket);
    return !text && text.error().code == error_code::config_bad_value;
  };
  EXPECT_TRUE(refuses([](join_ticket& t) { t.node = "a b"; }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.node.assign(limits::join_name_bytes_max + 1, 'a'); }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.target.port = 0; }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.target.addresses.clear(); }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.target.addresses.resize(limits::join_addresses_max + 1, "a"); }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.target.addresses[1] = ""; }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.expires_unix_seconds = -1; }));
  EXPECT_TRUE(refuses([](join_ticket& t) { t.issued_unix_seconds = t.expires_unix_seconds; }));
}

TEST(join_secret, is_erased_with_its_object) {
  alignas(join_secret) std::array<unsigned char, sizeof(join_secret)> place{};
  auto* const secret = new (place.data()) join_secret(*join_secret::make());
  const auto is_zero = [&] { return std::ranges::all_of(place, [](volatile unsigned char& c) { return c == 0; }); };
  EXPECT_FALSE(is_zero());
  secret->~join_secret();
  EXPECT_TRUE(is_zero());
}

}  // namespace
}  // namespace troupe::testing
