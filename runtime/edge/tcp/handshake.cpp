#include "runtime/edge/tcp/handshake.hpp"

#include <string>
#include <utility>

namespace troupe {
namespace {

std::string both(const std::string& what, std::uint64_t told, std::uint64_t wanted) {
  return what + " " + std::to_string(told) + ", expected " + std::to_string(wanted);
}

std::string who(const std::string& node) {
  return node.empty() ? "the driver" : "node " + node;
}

}  // namespace

expected<void> check_peer(const std::string& where, const std::optional<std::string>& node,
                          const std::optional<std::string>& wanted) {
  if (!node || !wanted || *node == *wanted) return {};
  return refuse_peer(where, "its certificate is that of " + who(*node) + ", expected " + who(*wanted));
}

tl::unexpected<error> refuse_peer(std::string where, std::string cause) {
  return fail(error_code::wire_handshake, std::move(where), std::move(cause),
              "Check that all processes belong to this run, and that none is left over from an earlier one");
}

expected<hello_frame> as_hello(const frame& first) {
  if (const auto* hello = std::get_if<hello_frame>(&first)) return *hello;
  return refuse_peer("handshake", "the first frame is no hello");
}

hello_frame make_hello(const edge_transcript& said) noexcept {
  hello_frame made{said.key, said.slots, said.caller, prove(proof_of::hello, said)};
  made.key.run = {};
  return made;
}

edge_transcript transcript_of(const hello_frame& told, const edge_secret& run) noexcept {
  edge_transcript said{told.key, told.slots, told.nonce, {}};
  said.key.run = run;
  return said;
}

bool knows_secret(const hello_frame& told, const edge_secret& run) noexcept {
  return same_proof(told.proof, prove(proof_of::hello, transcript_of(told, run)));
}

expected<void> check_hello(const hello_frame& told, const edge_key& wanted, std::uint32_t slots) {
  if (!knows_secret(told, wanted.run)) return refuse_peer("handshake", "it does not know the secret of this run");
  const std::string where = to_string(wanted);
  if (told.key.edge != wanted.edge) return refuse_peer(where, both("edge", told.key.edge, wanted.edge));
  if (told.key.epoch != wanted.epoch) {
    const bool stale = told.key.epoch < wanted.epoch;
    return refuse_peer(where, both(stale ? "stale epoch" : "epoch to come,", told.key.epoch, wanted.epoch));
  }
  if (told.key.incarnation != wanted.incarnation) {
    return refuse_peer(where, both("incarnation", told.key.incarnation, wanted.incarnation));
  }
  if (told.slots != slots) return refuse_peer(where, both("slots", told.slots, slots));
  return {};
}

}  // namespace troupe
