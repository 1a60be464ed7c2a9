#include "runtime/telemetry/shared_page.hpp"

#include <new>
#include <utility>

#include "messages/try.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe {
namespace {

enum class page_state : std::uint8_t { empty_memory, constructed };

/// Maps `memory`, which stays mapped as long as the pointer lives. Constructs the page there, unless another process
/// has done so.
expected<std::shared_ptr<engine_page>> map_page(const shared_memory& memory, page_state state) {
  auto mapped = TROUPE_TRY(memory.map(0, sizeof(engine_page)));
  const auto owner = std::make_shared<memory_mapping>(std::move(mapped));
  void* const at = owner->bytes().data();
  const bool is_constructed = state == page_state::constructed;
  engine_page* const page = is_constructed ? static_cast<engine_page*>(at) : new (at) engine_page;
  return std::shared_ptr<engine_page>(owner, page);
}

}  // namespace

expected<shared_page> shared_page::create() {
  auto memory = TROUPE_TRY(shared_memory::create("troupe-engine", sizeof(engine_page)));
  TROUPE_TRY(memory.commit(0, sizeof(engine_page)));
  auto page = TROUPE_TRY(map_page(memory, page_state::empty_memory));
  return shared_page(blob(std::move(memory).release()), std::move(page));
}

expected<shared_page> shared_page::adopt(unique_fd descriptor) {
  auto memory = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), sizeof(engine_page)));
  auto page = TROUPE_TRY(map_page(memory, page_state::constructed));
  return shared_page(blob(std::move(memory).release()), std::move(page));
}

std::shared_ptr<doorbell> shared_page::bell() const {
  struct kept_bell {
    std::shared_ptr<engine_page> page;
    doorbell bell;
    explicit kept_bell(std::shared_ptr<engine_page> kept) : page(std::move(kept)), bell(page->bell) {}
  };
  const auto made = std::make_shared<kept_bell>(page_);
  return {made, &made->bell};
}

}  // namespace troupe
