#pragma once

#include <cstdint>
#include <span>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>

namespace troupe {

/// Samples of any places of a data set, in this order, as one block in memory of its own, which is aligned. Each run of
/// samples that follow one another is read at once. Samples of several sizes are filled up with data_set::padding().
/// Errors: those of read_samples(); E0604 for samples that cannot stand in one tensor, as they have other sizes or
/// types.
expected<sample_block> gathered_samples(const data_set& data, std::span<const std::uint64_t> samples);

}  // namespace troupe
