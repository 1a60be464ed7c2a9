#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <troupe/fault_plan.hpp>

namespace troupe {

/// One key of a fault with its value as text, wherever it stands: "at" and "mb17". The kind of the fault has the key
/// "kind". The value of loader, aggregator, driver and journal is empty.
struct fault_field {
  std::string key;
  std::string value;
  /// Where key and value begin, as the reader of the fields counts: the column of a text.
  std::size_t key_at = 0;
  std::size_t value_at = 0;
};

/// A mistake in fields, at the place that one of them names.
struct fault_mistake {
  std::size_t at = 0;
  std::string cause;
  std::string fix;
};

/// The fault that fields describe; both spellings, text and TOML, come here. `fields` has a kind, first.
tl::expected<fault, fault_mistake> read_fault(std::span<const fault_field> fields);

}  // namespace troupe
