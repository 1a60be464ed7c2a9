#include "runtime/telemetry/shared_page.hpp"

#include <new>
#include <utility>

#include "messages/try.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe {
namespace {

enum class page_words : std::uint8_t { to_be_made, made_before };

/// Maps `memory` and keeps it mapped as long as the pointer lives. Makes the words of the page there, unless another
/// process has made them before.
expected<std::shared_ptr<engine_page>> map_page(const shared_memory& memory, page_words words) {
  auto mapped = TROUPE_TRY(memory.map(0, sizeof(engine_page)));
  const auto owner = std::make_shared<memory_mapping>(std::move(mapped));
  void* const at = owner->bytes().data();
  const bool is_made = words == page_words::made_before;
  engine_page* const page = is_made ? static_cast<engine_page*>(at) : new (at) engine_page;
  return std::shared_ptr<engine_page>(owner, page);
}

}  // namespace

expected<shared_page> shared_page::create() {
  auto memory = TROUPE_TRY(shared_memory::create("troupe-engine", sizeof(engine_page)));
  TROUPE_TRY(memory.commit(0, sizeof(engine_page)));
  auto page = TROUPE_TRY(map_page(memory, page_words::to_be_made));
  return shared_page(blob(std::move(memory).release()), std::move(page));
}

expected<shared_page> shared_page::adopt(unique_fd descriptor) {
  auto memory = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), sizeof(engine_page)));
  auto page = TROUPE_TRY(map_page(memory, page_words::made_before));
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
