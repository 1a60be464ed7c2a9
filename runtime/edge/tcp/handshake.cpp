#include <string>
#include <utility>

#include <troupe/runtime/edge/tcp/handshake.hpp>

namespace troupe {
namespace {

std::string both(const std::string& what, std::uint64_t told, std::uint64_t wanted) {
  return what + " " + std::to_string(told) + ", expected " + std::to_string(wanted);
}

}  // namespace

tl::unexpected<error> refuse_peer(std::string where, std::string cause) {
  return fail(error_code::wire_handshake, std::move(where), std::move(cause),
              "Check that all processes belong to this run, and that none is left over from an earlier one");
}

bool same_token(const edge_secret& left, const edge_secret& right) noexcept {
  return ((left[0] ^ right[0]) | (left[1] ^ right[1])) == 0;
}

expected<hello_frame> as_hello(const frame& first) {
  if (const auto* hello = std::get_if<hello_frame>(&first)) return *hello;
  return refuse_peer("handshake", "the first frame is no hello");
}

expected<void> check_hello(const hello_frame& told, const edge_key& wanted, std::uint32_t slots) {
  if (!same_token(told.key.run, wanted.run)) return refuse_peer("handshake", "it does not know the token of this run");
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
