#include "runtime/stage/rows.hpp"

#include <algorithm>
#include <numeric>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

at::Tensor index_of(const std::vector<std::int64_t>& positions) {
  at::Tensor index = at::empty({static_cast<std::int64_t>(positions.size())}, at::kLong);
  std::ranges::copy(positions, index.mutable_data_ptr<std::int64_t>());
  return index;
}

tl::unexpected<error> differs(const std::string& what) {
  return fail(error_code::forward_failed, "join", "its inputs differ in " + what,
              "let the stages before it return the same tensors for every part");
}

/// Where each row of the parts, laid one behind the other, goes: positions in the concatenation by ascending row.
std::vector<std::int64_t> order_of(std::span<const row_set> rows) {
  std::vector<std::uint32_t> all;
  for (const row_set& each : rows) all.insert(all.end(), each.begin(), each.end());
  std::vector<std::int64_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int64_t position) { return all[static_cast<std::size_t>(position)]; });
  return order;
}

}  // namespace

bool same_rows(const activation& a, const activation& b) {
  if (a.rows == b.rows) return true;
  return rows_of(a) == rows_of(b);
}

row_set rows_of(const activation& part) {
  if (part.rows) return *part.rows;
  row_set all(part.samples.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

named_tensors pick_rows(const named_tensors& from, const row_set& picked) {
  const at::Tensor index = index_of({picked.begin(), picked.end()});
  named_tensors made;
  for (const auto& [name, tensor] : from) made.set(name, tensor.index_select(0, index));
  return made;
}

expected<named_tensors> interleave_rows(std::span<const named_tensors> parts, std::span<const row_set> rows) {
  const at::Tensor order = index_of(order_of(rows));
  named_tensors made;
  for (const auto& [name, first] : parts.front()) {
    std::vector<at::Tensor> pieces;
    for (const named_tensors& part : parts) {
      const at::Tensor* piece = part.find(name);
      if (piece == nullptr || part.size() != parts.front().size()) return differs("the tensors they hold");
      if (piece->scalar_type() != first.scalar_type()) return differs("the dtype of " + part.names());
      if (piece->dim() < 1 || piece->sizes().slice(1) != first.sizes().slice(1)) {
        return differs("the shape of " + part.names());
      }
      pieces.push_back(*piece);
    }
    made.set(name, at::cat(pieces, 0).index_select(0, order));
  }
  return made;
}

expected<void> check_row_counts(const activation& part, const std::string& where) {
  const auto wanted = static_cast<std::int64_t>(part.row_count());
  for (const auto& [name, tensor] : to_named(part.tensors)) {
    if (tensor.dim() >= 1 && tensor.size(0) == wanted) continue;
    return fail(error_code::forward_failed, where,
                "expected " + std::to_string(wanted) + " rows, one per sample, found " +
                    (tensor.dim() == 0 ? "none" : std::to_string(tensor.size(0))) +
                    (name.empty() ? "" : " in \"" + name + "\""),
                "keep dimension 0, the samples");
  }
  return {};
}

}  // namespace troupe
