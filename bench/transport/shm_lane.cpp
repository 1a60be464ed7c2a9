// Two shared-memory edges, there and back, and a page for the bells of both processes.
#include "block_codec.hpp"
#include "edge_lane.hpp"
#include "lanes.hpp"
#include "runtime/edge/shm/shm_edge.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe::bench {
namespace {

constexpr std::uint64_t page_bytes = 4096;

/// Descriptors in the order in which the peer gets them.
struct shm_ground {
  unique_fd there;
  unique_fd back;
  unique_fd bells;
};

/// A bell in the page; the page stays mapped as long as the bell lives.
std::shared_ptr<doorbell> bell_at(const std::shared_ptr<const memory_mapping>& page, std::size_t which) {
  auto& words = reinterpret_cast<doorbell_words&>(page->bytes()[which * sizeof(doorbell_words)]);
  return {new doorbell(words), [page](const doorbell* done) { delete done; }};
}

edge_lane_parts parts_of(shm_ground ground, bool is_driver, bool checksums) {
  auto memory = must(shared_memory::adopt(std::move(ground.bells), page_bytes));
  const auto page = std::make_shared<const memory_mapping>(must(memory.map(0, page_bytes)));
  const auto own = bell_at(page, is_driver ? 0 : 1);
  const auto other = bell_at(page, is_driver ? 1 : 0);
  const auto trouble = std::make_shared<edge_trouble>();
  const shm_end_options end{.peer_bell = other,
                            .codec = std::make_shared<const block_codec>(),
                            .on_damaged = [trouble](const error& told) { trouble->put(told); },
                            .checksums = checksums};
  unique_fd& out = is_driver ? ground.there : ground.back;
  unique_fd& in = is_driver ? ground.back : ground.there;
  return {nullptr, own, trouble, must(open_shm_producer(std::move(out), end)),
          must(open_shm_consumer(std::move(in), end))};
}

class shm_lane_kind final : public lane_kind {
 public:
  shm_lane_kind(std::string name, bool checksums) : lane_kind(std::move(name)), has_checksums_(checksums) {}

  std::unique_ptr<lane_end> open(lane_side& driver) const override {
    const shm_edge_options options{credits, 1};
    shm_ground ground{must(create_shm_edge(options)), must(create_shm_edge(options)),
                      std::move(must(shared_memory::create("troupe-bells", page_bytes))).release()};
    driver.other.say("join " + name(), {ground.there.get(), ground.back.get(), ground.bells.get()});
    driver.other.hear_word("joined", join_limit);
    return make_edge_lane(parts_of(std::move(ground), true, has_checksums_), driver.wait);
  }

  std::unique_ptr<lane_end> join(lane_side& peer, fd_message heard) const override {
    if (heard.fds.size() != 3) throw transport_failure("shm comes with three descriptors");
    shm_ground ground{std::move(heard.fds[0]), std::move(heard.fds[1]), std::move(heard.fds[2])};
    auto lane = make_edge_lane(parts_of(std::move(ground), false, has_checksums_), peer.wait);
    peer.other.say("joined");
    return lane;
  }

 private:
  const bool has_checksums_;
};

}  // namespace

std::unique_ptr<lane_kind> shm_kind(std::string name, bool checksums) {
  return std::make_unique<shm_lane_kind>(std::move(name), checksums);
}

}  // namespace troupe::bench
