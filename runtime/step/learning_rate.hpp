#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// The learning rate as a function of the step alone, so that a resumed run needs nothing but its step.
///
/// It is read from a text, NAME:OPTION=VALUE:OPTION=VALUE. Each one is the scheduler of torch.optim.lr_scheduler in its
/// closed form, whose step() is called once per step:
///
///     constant                                     the base rate
///     linear:total=N:start=1/3:end=1               LinearLR(start_factor, end_factor, total_iters)
///     step:every=N:gamma=0.1                       StepLR(step_size, gamma)
///     cosine:total=N:min=0                         CosineAnnealingLR(T_max, eta_min); rises again after N steps
///     one_cycle:total=N:rise=0.3:divide=25:final_divide=10000:shape=cos
///                                                  OneCycleLR(total_steps, pct_start, div_factor, final_div_factor,
///                                                  anneal_strategy, cycle_momentum=False); its max_lr is the base
///                                                  rate, and after N steps its last rate stays
///
/// Each one but one_cycle also has warmup=N:from=F: in the first N steps the rate rises on a straight line from F times
/// the base rate (1/N unless given), and the schedule's step 0 comes after them, as with
/// SequentialLR([LinearLR(start_factor=F, total_iters=N), schedule], milestones=[N]).
class learning_rate {
 public:
  /// `base` is positive. E0102 for another name or option, E0103 for another value; both show one that is right.
  [[nodiscard]] static expected<learning_rate> make(double base, const std::string& text);

  [[nodiscard]] double at(std::uint64_t step) const noexcept;

 private:
  enum class kind : std::uint8_t { constant, linear, step, cosine, one_cycle };

  [[nodiscard]] double scheduled(double step) const noexcept;
  [[nodiscard]] double cycle(double step) const noexcept;
  [[nodiscard]] double& option(std::string_view name) noexcept;

  kind kind_ = kind::constant;
  double base_ = 0;
  double total_ = 1;
  double start_ = 1.0 / 3;
  double end_ = 1;
  double every_ = 1;
  double gamma_ = 0.1;
  double min_ = 0;
  double rise_ = 0.3;
  double divide_ = 25;
  double final_divide_ = 1e4;
  double shape_ = 0;  ///< 0: cos, 1: linear
  double warmup_ = 0;
  double from_ = 0;  ///< 0: 1/N
};

}  // namespace troupe
