#include "runtime/optimizer/tied_sums.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/kernel/state_hash.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

constexpr std::int64_t columns = 3;
constexpr std::uint64_t packed_at = 64;

std::int64_t key_of(const std::string& name) {
  return static_cast<std::int64_t>(state_hash(std::as_bytes(std::span(name))));
}

tl::unexpected<error> malformed(std::string cause) {
  return fail(error_code::wire_malformed, "sum of the gradients of tied layers", std::move(cause),
              "Check that all processes run the same version of Troupe");
}

/// The parameter's key and the layer of the place.
using place_key = std::pair<std::int64_t, std::int64_t>;

/// What one replica of another stage has sent.
class received_sums {
 public:
  static expected<received_sums> read(const payload_ptr& given) {
    const std::vector<at::Tensor>& tensors = as_tensors(given).tensors();
    if (tensors.size() != 2 || tensors[0].scalar_type() != at::kByte || tensors[1].scalar_type() != at::kLong ||
        tensors[0].dim() != 1 || tensors[1].dim() != 2 || tensors[1].size(1) != columns ||
        !std::ranges::all_of(tensors, [](const at::Tensor& each) { return each.is_contiguous() && each.is_cpu(); })) {
      return malformed("it is not bytes and a table");
    }
    received_sums made(tensors[0]);
    const auto* row = tensors[1].const_data_ptr<std::int64_t>();
    for (std::int64_t number = 0; number < tensors[1].size(0); ++number, row += columns) {
      if (!made.begins_.emplace(place_key{row[0], row[1]}, row[2]).second) {
        return malformed("the sum of layer " + std::to_string(row[1]) + " comes twice");
      }
    }
    return made;
  }

  /// Null where there is none.
  [[nodiscard]] expected<const std::byte*> find(const place_key& key, std::uint64_t bytes) const {
    const auto found = begins_.find(key);
    if (found == begins_.end()) return nullptr;
    const auto all = static_cast<std::uint64_t>(bytes_.numel());
    const auto begin = static_cast<std::uint64_t>(found->second);
    if (begin % packed_at != 0 || begin > all || bytes > all - begin) {
      return malformed("the sum of layer " + std::to_string(key.second) + " has another size");
    }
    return static_cast<const std::byte*>(bytes_.const_data_ptr()) + begin;
  }

 private:
  explicit received_sums(at::Tensor bytes) : bytes_(std::move(bytes)) {}

  at::Tensor bytes_;
  std::map<place_key, std::int64_t> begins_;
};

/// The sum of one place at one replica, which one of the other stages has.
expected<const std::byte*> find_place(const std::vector<received_sums>& stages, const stored_tensor& parameter,
                                      std::size_t layer) {
  const std::byte* found = nullptr;
  for (const received_sums& each : stages) {
    const auto* const here =
        TROUPE_TRY(each.find({key_of(parameter.name), static_cast<std::int64_t>(layer)}, parameter.bytes()));
    if (here != nullptr && std::exchange(found, here) != nullptr) {
      return malformed("that of layer " + std::to_string(layer) + " comes from two stages");
    }
  }
  return found;
}

}  // namespace

payload_ptr pack_tied_sums(const parameter_layout& layout, const at::Tensor& sums) {
  std::vector<std::int64_t> table;
  std::vector<const stored_tensor*> sent;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < layout.ties().size(); ++at) {
    const tied_parameter& tie = layout.ties()[at];
    if (!tie.is_shared()) continue;
    for (std::size_t use = tie.begin; use < tie.end; ++use) {
      sent.push_back(&layout.sums()[layout.sum_at(at, use)]);
      table.insert(table.end(), {key_of(layout.parameters()[tie.parameter].name),
                                 static_cast<std::int64_t>(tie.places[use]), static_cast<std::int64_t>(bytes)});
      bytes += (sent.back()->bytes() + packed_at - 1) / packed_at * packed_at;
    }
  }
  if (sent.empty() || !sums.defined()) return nullptr;
  const at::Tensor packed = at::zeros({static_cast<std::int64_t>(bytes)}, at::kByte);
  const auto* const from = static_cast<const std::byte*>(sums.const_data_ptr());
  auto* const to = static_cast<std::byte*>(packed.mutable_data_ptr());
  for (std::size_t row = 0; row < sent.size(); ++row)
    std::memcpy(to + table[row * columns + columns - 1], from + sent[row]->offset, sent[row]->bytes());
  return std::make_shared<const tensor_set>(
      std::vector<at::Tensor>{packed, at::tensor(table, at::kLong).view({-1, columns})});
}

expected<void> add_tied_sums(parameter_sums& into, const parameter_layout& layout, std::span<const payload_ptr> tied,
                             std::size_t replicas) {
  TROUPE_CHECK(replicas > 0 && tied.size() % replicas == 0, "each stage has all replicas");
  for (std::size_t replica = 0; replica < replicas; ++replica) {
    std::vector<received_sums> stages;
    for (std::size_t from = replica; from < tied.size(); from += replicas) {
      if (tied[from] != nullptr) stages.push_back(TROUPE_TRY(received_sums::read(tied[from])));
    }
    for (const tied_parameter& tie : layout.ties()) {
      const stored_tensor& parameter = layout.parameters()[tie.parameter];
      for (std::size_t use = 0; use < tie.places.size(); ++use) {
        if (use >= tie.begin && use < tie.end) continue;
        const auto* const found = TROUPE_TRY(find_place(stages, parameter, tie.places[use]));
        // A stage without any sums has lost the micro-batches that others have seen, as the votes will say.
        if (found == nullptr && stages.size() * replicas == tied.size()) {
          return malformed("that of \"" + parameter.name + "\" in layer " + std::to_string(tie.places[use]) +
                           " is missing");
        }
        into[tie.parameter][use].push_back(found);
      }
    }
  }
  return {};
}

}  // namespace troupe
