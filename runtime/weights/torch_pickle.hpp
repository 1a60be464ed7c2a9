#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/weights/writing.hpp"

namespace troupe {

/// A file of torch.save in the zip format while it is put together: one value after the other, as a pickle of protocol
/// 2, and the storages that its tensors are views of. A dict has keys and values in turn.
class torch_pickle {
 public:
  void put_none() { bytes_ += 'N'; }
  void put_truth(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void put_whole(std::int64_t value);
  void put_real(double value);
  void put_text(std::string_view value);
  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  void begin_list() { bytes_ += "]("; }
  void end_list() { bytes_ += 'e'; }

  /// A dense tensor; those that share memory go on sharing it. E0217, which names it, for one of a type that torch.save
  /// does not have.
  expected<void> put_tensor(const weights_writing& to, const std::string& name, const at::Tensor& given);

  /// Writes the file; exactly one value has been put.
  expected<void> write(weights_writing& to) const;

 private:
  void put_global(std::string_view module, std::string_view name);
  void put_counts(at::IntArrayRef values);
  void put_storage(const at::Tensor& tensor, std::string_view class_name);

  std::string bytes_ = "\x80\x02";
  /// By their keys, as bytes.
  std::vector<at::Tensor> storages_;
  /// torch.load keeps one type for each key.
  std::map<std::pair<const c10::StorageImpl*, c10::ScalarType>, std::size_t> keys_;
};

}  // namespace troupe
