// Goal: proofs are those of docs/wire.md, and no two of them are alike. Method: numbers computed by Python's hmac, and
// each part of a transcript changed.
#include <set>

#include <gtest/gtest.h>

#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

constexpr edge_nonce caller{0x1111111111111111, 0x2222222222222222};
constexpr edge_nonce listener{0x3333333333333333, 0x4444444444444444};

edge_transcript example() {
  return {{test_token, 3, 2, 1}, 4, caller, listener};
}

TEST(edge_proof, is_hmac_sha256_over_all_that_was_said) {
  auto said = example();
  EXPECT_EQ(prove(proof_of::listener, said),
            (edge_proof{0xc9b10afe7a0de541, 0x57a5302cae4f1f45, 0x2a44f3ee1943ba69, 0x4d836e353f3ce66b}));
  EXPECT_EQ(prove(proof_of::caller, said),
            (edge_proof{0x28bb111a49c5cdc6, 0xc40b6584ad192683, 0xdcb776deb22f95de, 0x46277c7860aff76e}));
  said.listener = {};
  EXPECT_EQ(prove(proof_of::hello, said),
            (edge_proof{0x9344bdbc41427fd0, 0x58c788c4a15c856d, 0xc7abdbfa8b5ca383, 0xfab048cc15b6de1c}));
}

TEST(edge_proof, changes_with_each_part) {
  std::vector<edge_transcript> all(9, example());
  all[1].key.run[1] ^= 1;
  all[2].key.edge ^= 1;
  all[3].key.epoch ^= 1;
  all[4].key.incarnation ^= 1;
  all[5].slots ^= 1;
  all[6].caller[0] ^= 1;
  all[7].listener[1] ^= 1;
  std::swap(all[8].caller, all[8].listener);
  std::set<edge_proof> proofs;
  for (const edge_transcript& each : all) {
    for (const auto which : {proof_of::hello, proof_of::listener, proof_of::caller}) proofs.insert(prove(which, each));
  }
  EXPECT_EQ(proofs.size(), 27u);
}

TEST(edge_proof, is_the_same_only_if_every_bit_is) {
  const edge_proof right = prove(proof_of::caller, example());
  EXPECT_TRUE(same_proof(right, right));
  for (std::size_t bit = 0; bit < 256; ++bit) {
    edge_proof other = right;
    other[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    EXPECT_FALSE(same_proof(right, other));
  }
}

TEST(edge_nonce, is_another_one_each_time) {
  std::set<edge_nonce> made;
  for (int i = 0; i < 1000; ++i) made.insert(make_nonce().value());
  EXPECT_EQ(made.size(), 1000u);
}

}  // namespace
}  // namespace troupe::testing
