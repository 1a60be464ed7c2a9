#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dialogue.hpp"
#include "lane_end.hpp"

namespace troupe::bench {

/// What one side needs to open its end of a lane between two processes.
struct lane_side {
  dialogue& other;
  patience wait;
};

/// A lane between two processes. The driver opens it: says "join <name> ..." with what the peer needs. The peer has
/// heard that, joins, and answers what the driver waits for. Errors: transport_failure.
class lane_kind {
 public:
  explicit lane_kind(std::string name) : name_(std::move(name)) {}
  lane_kind(const lane_kind&) = delete;
  lane_kind& operator=(const lane_kind&) = delete;
  virtual ~lane_kind() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] virtual std::unique_ptr<lane_end> open(lane_side& driver) const = 0;
  [[nodiscard]] virtual std::unique_ptr<lane_end> join(lane_side& peer, fd_message heard) const = 0;

 private:
  const std::string name_;
};

/// shm, tcp and tls, each with a checksum over payloads and without; both sockets; gloo where it was built in. In the
/// order of the report. Made at the first call.
[[nodiscard]] const std::vector<std::unique_ptr<lane_kind>>& lane_kinds();
/// Throws where there is none of that name.
[[nodiscard]] const lane_kind& kind_named(const std::string& name);

/// The one that shows what copying costs here: copies from the source to one of as many places as an edge has slots.
[[nodiscard]] std::unique_ptr<lane_end> make_memcpy_lane();
/// Both ends of a lane between two threads: the driver's and the peer's.
[[nodiscard]] std::pair<std::unique_ptr<lane_end>, std::unique_ptr<lane_end>> make_inproc_lane(patience driver,
                                                                                               patience peer);
[[nodiscard]] std::unique_ptr<lane_kind> shm_kind(std::string name, bool checksums);
struct tcp_variant {
  bool tls = false;
  bool crc = true;
};
[[nodiscard]] std::unique_ptr<lane_kind> tcp_kind(std::string name, tcp_variant variant);
[[nodiscard]] std::unique_ptr<lane_kind> unix_socket_kind();
[[nodiscard]] std::unique_ptr<lane_kind> tcp_socket_kind();
/// Null where gloo was not found.
[[nodiscard]] std::unique_ptr<lane_kind> gloo_kind();
/// "0.5.0"; empty where gloo was not found.
[[nodiscard]] std::string gloo_version();

/// How long either side waits for the other one's part in opening a lane.
inline constexpr std::chrono::seconds join_limit{20};

}  // namespace troupe::bench
