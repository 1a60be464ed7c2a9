#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/shm/shm_ends.hpp"

namespace troupe {
namespace shm {

expected<opened_edge> open_edge(unique_fd descriptor) {
  auto memory = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), control_bytes(1)));
  auto shared = TROUPE_TRY(control_view::open(memory));
  return opened_edge{std::move(memory), std::move(shared)};
}

}  // namespace shm

expected<unique_fd> create_shm_edge(const shm_edge_options& options) {
  TROUPE_CHECK(options.slots >= 1 && options.slots <= limits::pipe_buffers_max,
               "an edge has 1 to pipe_buffers_max slots");
  TROUPE_CHECK(options.credits_per_ring >= 1, "a producer must be rung at some number of free slots");
  auto memory = TROUPE_TRY(shared_memory::create("troupe-edge", shm::extents_at(options.slots)));
  TROUPE_TRY(shm::control_view::create(memory, options.slots, options.credits_per_ring));
  return std::move(memory).release();
}

shm_edge_factory::shm_edge_factory(std::shared_ptr<const payload_codec> codec) : codec_(std::move(codec)) {
  TROUPE_CHECK(codec_ != nullptr, "payloads become bytes in a slot");
}

edge_ends shm_edge_factory::make(const edge_options& options) {
  const auto must = [](auto&& result) {
    if (!result) throw std::runtime_error(to_string(result.error()));
    return std::move(*result);
  };
  const auto bell = [](doorbell* rung) { return std::shared_ptr<doorbell>(std::shared_ptr<void>(), rung); };
  unique_fd memory = must(create_shm_edge({options.slots, options.credits_per_ring}));
  unique_fd second(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!second) throw std::system_error(errno, std::generic_category(), "no second descriptor of a shared-memory edge");
  return {must(open_shm_producer(std::move(memory), {bell(options.consumer_bell), codec_, {}})),
          must(open_shm_consumer(std::move(second), {bell(options.producer_bell), codec_, {}}))};
}

}  // namespace troupe
