#pragma once

namespace troupe {

/// How a model's file is loaded, at every door that takes one.
struct model_loading {
  /// A model is a program. By default its code may turn tensors into tensors and nothing else: code that prints,
  /// touches files or processes, or uses operators that are not known, is refused (E0212) before any of it runs. True
  /// takes it.
  bool allow_effects = false;
};

}  // namespace troupe
