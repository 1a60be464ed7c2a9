#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// What code of this name does outside of the tensors it is given, for people ("writes a file"); nothing for the
/// others. `is_member` tells names behind a dot (torch.save, x.save, ops.aten.save) from others (print).
std::optional<std::string_view> effect_of_name(std::string_view name, bool is_member);

/// Whether all operators of this namespace have been read and have no other effect; false for those that are not known.
bool is_known_namespace(std::string_view name);

/// The same of C++ classes, __torch__.torch.classes.NAMESPACE.Class, which make and restore themselves by their own
/// code.
bool is_known_class_namespace(std::string_view name);

}  // namespace troupe
