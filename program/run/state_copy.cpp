#include "program/run/state_copy.hpp"

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

#include "messages/try.hpp"

namespace troupe {

expected<at::Tensor> state_copy::make_room(const parameter_layout& layout) {
  const std::uint64_t size = layout.bytes();
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    return fail(error_code::process_failed, "copy of the weights", "mmap: " + std::generic_category().message(errno),
                "free memory, or cut the model into more stages");
  }
  return at::from_blob(
      begin, {static_cast<std::int64_t>(size)}, [size](void* pages) { ::munmap(pages, size); }, at::kByte);
}

std::span<std::byte> state_copy::bytes() const {
  return {reinterpret_cast<std::byte*>(room_.mutable_data_ptr<std::uint8_t>()),
          static_cast<std::size_t>(room_.numel())};
}

expected<void> state_copy::fetch(std::uint64_t offset, std::uint64_t size) {
  return fetch_(offset, bytes().subspan(offset, size));
}

expected<void> state_copy::look() {
  TROUPE_TRY(fetch(0, parameter_layout::page));
  if (!trained_parameters::holds_state(bytes())) {
    values_ = nullptr;
  } else if (!values_) {
    values_ = TROUPE_TRY(trained_parameters::adopt(layout_, bytes(), false));
  }
  return {};
}

bool state_copy::has_decided(const std::optional<step_decision>& last) const {
  return values_ && (!last || (values_->decided_call() && *values_->decided_call() >= last->call));
}

bool state_copy::can_decide(const step_decision& last) const {
  return values_ && values_->finished_call() == last.call;
}

expected<void> state_copy::read_current() {
  return fetch(layout_.half_begin(values_->version()), layout_.half_bytes());
}

expected<void> state_copy::read_all() {
  return fetch(parameter_layout::page, layout_.bytes() - parameter_layout::page);
}

at::Tensor state_copy::kept(const at::Tensor& view) const {
  const std::span<std::byte> room = bytes();
  const auto offset = static_cast<const std::byte*>(view.const_data_ptr()) - room.data();
  if (view.numel() == 0 || offset < 0 || offset >= std::ssize(room)) return view.clone();
  return room_.narrow(0, offset, static_cast<std::int64_t>(view.nbytes())).view(view.scalar_type()).view(view.sizes());
}

}  // namespace troupe
