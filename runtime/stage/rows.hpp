#pragma once

#include <span>

#include "messages/activation.hpp"
#include <troupe/error.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// Whether two parts of one micro-batch hold the same samples.
bool same_rows(const activation& a, const activation& b);

/// Positions of the part's samples in their micro-batch: `rows`, or all.
row_set rows_of(const activation& part);

/// Rows `picked` (positions in the tensors, ascending) of every tensor, as new tensors.
named_tensors pick_rows(const named_tensors& from, const row_set& picked);

/// Parts put together: row r of the result is row k of the part whose rows[k] is the r-th smallest of all. `rows`: of
/// each part, disjoint; `parts`: with the same names, dtypes and shapes but for dimension 0. E0602 says what differs.
expected<named_tensors> interleave_rows(std::span<const named_tensors> parts, std::span<const row_set> rows);

/// E0602 unless dimension 0 of every tensor is the part's number of samples.
expected<void> check_row_counts(const activation& part, const std::string& where);

}  // namespace troupe
