#include "runtime/data/token_rows.hpp"

#include <algorithm>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"

namespace troupe {

expected<void> token_rows::add(std::span<const token_id> ids, std::span<const std::uint32_t> types,
                               const std::string& place) {
  if (ids.size() > tokens_kept_max - ids_.size()) {
    return fail(error_code::data_bad_format, place,
                "the texts have more than " + std::to_string(tokens_kept_max) + " tokens, which are kept in memory",
                "split the file");
  }
  const bool has_types = std::ranges::any_of(types, [](std::uint32_t type) { return type != 0; });
  if (has_types && types_.empty()) types_.resize(ids_.size());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  if (has_types) {
    for (const std::uint32_t type : types) types_.push_back(static_cast<std::uint8_t>(std::min(type, 255U)));
  } else if (!types_.empty()) {
    types_.resize(ids_.size());
  }
  begins_.push_back(ids_.size());
  longest_ = std::max<std::uint64_t>(longest_, ids.size());
  shortest_ = std::min<std::uint64_t>(shortest_, ids.size());
  return {};
}

std::span<const token_id> token_rows::ids(std::uint64_t row) const {
  return std::span(ids_).subspan(begins_[row], begins_[row + 1] - begins_[row]);
}

std::uint64_t token_rows::longest_of(sample_range range) const {
  TROUPE_CHECK(range.begin < range.end && range.end <= size(), "only samples of the data set are read");
  std::uint64_t longest = 0;
  for (std::uint64_t row = range.begin; row < range.end; ++row)
    longest = std::max(longest, begins_[row + 1] - begins_[row]);
  return longest;
}

void token_rows::fill(std::uint64_t row, const std::string& name, token_id padding,
                      std::span<std::int64_t> into) const {
  const std::span<const token_id> tokens = ids(row);
  if (name == "input_ids") {
    std::ranges::copy(tokens, into.begin());
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(tokens.size()), into.end(), padding);
    return;
  }
  std::ranges::fill(into, 0);
  if (name == "attention_mask") {
    std::fill_n(into.begin(), tokens.size(), 1);
  } else if (!types_.empty()) {
    std::copy_n(types_.begin() + static_cast<std::ptrdiff_t>(begins_[row]), tokens.size(), into.begin());
  }
}

expected<named_tensors> token_rows::inputs(sample_range range, std::uint64_t length,
                                           const std::vector<std::string>& names, token_id padding,
                                           const std::string& where) const {
  named_tensors made;
  const std::vector<std::int64_t> sizes = with_rows(range.size(), {static_cast<std::int64_t>(length)});
  for (const std::string& name : names) {
    at::Tensor tensor = TROUPE_TRY(new_tensor(sizes, at::kLong, where));
    std::span<std::int64_t> room(tensor.mutable_data_ptr<std::int64_t>(), range.size() * length);
    for (std::uint64_t row = range.begin; row < range.end; ++row) {
      fill(row, name, padding, room.first(length));
      room = room.subspan(length);
    }
    made.set(name, std::move(tensor));
  }
  return made;
}

}  // namespace troupe
