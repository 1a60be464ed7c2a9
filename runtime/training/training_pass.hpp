#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace troupe {

/// Draws of a pass follow from these and the layer alone, so that they are the same for every cut, number of replicas,
/// recomputation and replay.
struct draw_place {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  /// The number of each sample of the micro-batch; at least one.
  std::vector<std::uint64_t> samples = {};
};

/// The statistics with which one batch normalisation has seen one micro-batch.
struct seen_statistics {
  const c10::TensorImpl* running_mean = nullptr;
  const c10::TensorImpl* running_var = nullptr;
  double momentum = 0;
  at::Tensor mean = {};
  at::Tensor var = {};  ///< unbiased, as it goes into the running variance
};

/// Thrown by a layer that cannot be trained, with what the user can do.
class untrainable : public std::runtime_error {
 public:
  untrainable(const std::string& cause, std::string fix) : std::runtime_error(cause), fix_(std::move(fix)) {}
  [[nodiscard]] const std::string& fix() const noexcept { return fix_; }

 private:
  std::string fix_;
};

enum class pass_mode : std::uint8_t {
  training,
  evaluation,  ///< dropout and its kin do nothing, whatever they are told
};

/// While it exists, operators of LibTorch that this thread calls behave as training by replay needs it, whatever module
/// or graph calls them:
///
/// - dropout and its kin draw a mask for each sample by its own key (runtime/random). The samples are the rows of
///   dimension 0, or equal blocks of rows; where neither holds, the first sample stands for all.
/// - other operators that would draw from the process-wide generator get one of the micro-batch's first sample.
/// - batch normalisation in training mode leaves its running statistics alone. What it has seen is kept here.
///
/// It uses a dispatch key that LibTorch has for modes of a thread (TESTING_ONLY_GenericMode), in front of autograd.
class training_pass {
 public:
  /// What num_batches_tracked counts from during a pass: a momentum that follows from the count is recognized by it.
  static constexpr std::int64_t tracked_from = std::int64_t{1} << 40;

  explicit training_pass(draw_place place, pass_mode mode = pass_mode::training);
  training_pass(const training_pass&) = delete;
  training_pass& operator=(const training_pass&) = delete;
  ~training_pass();

  /// `layer`: the position in the whole model. Draws are counted anew in each layer.
  void enter_layer(std::size_t layer) noexcept;
  /// In the order in which they were seen.
  [[nodiscard]] const std::vector<seen_statistics>& statistics() const noexcept { return statistics_; }

  // For the operators.

  [[nodiscard]] const draw_place& place() const noexcept { return place_; }
  [[nodiscard]] bool drops() const noexcept { return mode_ == pass_mode::training; }
  /// A number for the next operator of the layer that draws.
  [[nodiscard]] std::uint64_t next_draw() noexcept;
  void keep(seen_statistics seen) { statistics_.push_back(std::move(seen)); }
  /// Of this thread; null where there is none.
  [[nodiscard]] static training_pass* current() noexcept;

 private:
  draw_place place_;
  pass_mode mode_;
  std::uint64_t layer_ = 0;
  std::uint64_t draws_ = 0;
  std::vector<seen_statistics> statistics_;
  training_pass* around_ = nullptr;
  c10::impl::IncludeDispatchKeyGuard guard_;
};

}  // namespace troupe
