#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/scope.h>

namespace troupe {

/// The scopes of a program's operators, in their order, by what the file says of the modules around each of them
/// ("nn_module_stack": "key,path,class;key,path,class", from the root inwards). The key of a second call of one module
/// ends with another number. Operators that follow each other in one call have one scope.
class module_calls {
 public:
  /// `root` is the class of the model.
  module_calls(const torch::jit::ScopePtr& blank, const std::string& root);

  /// The scope of the next operator. One without modules around it belongs to where the last one did.
  torch::jit::ScopePtr enter(const std::string& stack);

 private:
  torch::jit::ScopePtr root_;
  /// The calls inside of the root that are open, with their entries in the file.
  std::vector<std::pair<std::string, torch::jit::ScopePtr>> open_;
};

/// The class of the model by the stack of one of its operators; empty where it does not say.
std::string root_class(const std::string& stack);

/// Places in the user's Python source.
class python_lines {
 public:
  /// The place that made an operator, by its stack trace: of the innermost frame that is neither in an installed
  /// package nor generated; where there is none, the innermost outside of torch, then the innermost. Unknown where the
  /// trace has no frame.
  torch::jit::SourceRange range_of(const std::string& stack_trace);

 private:
  std::map<std::pair<std::string, std::size_t>, std::shared_ptr<torch::jit::Source>> known_;
};

}  // namespace troupe
