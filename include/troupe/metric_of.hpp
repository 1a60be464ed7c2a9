#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe {

/// Converts to the types that members of a metric's state may have, and to no others.
struct state_member_probe {
  template <class T>
  requires(std::same_as<T, double> || std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t>) operator T()
      const;
};

template <class State, std::size_t... Word>
constexpr bool has_only_words(std::index_sequence<Word...>) {
  return requires {
    State{(static_cast<void>(Word), state_member_probe{})...};
  };
}

/// A plain struct of double, std::uint64_t and std::int64_t, and of arrays and structs of these. So it has no padding,
/// and its bytes are the same in every process.
template <class State>
concept metric_state = std::is_aggregate_v<State> && std::is_trivially_copyable_v<State> &&
                               std::is_default_constructible_v<State> && sizeof(State) %
                               sizeof(std::uint64_t) ==
                           0 &&
                       has_only_words<State>(std::make_index_sequence<sizeof(State) / sizeof(std::uint64_t)>());

/// Stops the process unless both are equal: all states of one metric have one size.
void check_state_size(std::size_t words, std::size_t expected_words);

/// A metric with a plain struct as its state, which sees all outputs and labels of a micro-batch by name:
///
///   struct spans { std::uint64_t right = 0; std::uint64_t count = 0; };
///   class right_spans final : public troupe::part_metric_of<spans> { ... update_part, merge, compute ... };
///
/// A new state is State{}, to which merge() must be able to add: it counts nothing. The three functions are const and
/// are called from several threads at a time.
template <metric_state State>
class part_metric_of : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept final { return name_; }
  [[nodiscard]] std::size_t words() const noexcept final { return word_count; }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const final {
    State changed = state_of(state);
    if (expected<void> done = update_part(part, changed); !done) return done;
    store(changed, state);
    return {};
  }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const final {
    State sum = state_of(total);
    merge(sum, state_of(part));
    store(sum, total);
  }
  [[nodiscard]] metric_value compute_total(const metric_total& total) const final {
    return compute(state_of(total.words));
  }

 protected:
  /// `name`: of the metric in results and in result.json.
  explicit part_metric_of(std::string name) : name_(std::move(name)) {}

  /// Adds one micro-batch; see metric::update_words.
  [[nodiscard]] virtual expected<void> update_part(const scored_part& part, State& state) const = 0;
  /// total += part. Parts come in the order of the micro-batches.
  virtual void merge(State& total, const State& part) const = 0;
  /// The values, made with real_field, count_field, real_list and count_list.
  [[nodiscard]] virtual metric_value compute(const State& total) const = 0;

 private:
  static constexpr std::size_t word_count = sizeof(State) / sizeof(std::uint64_t);
  using word_array = std::array<std::uint64_t, word_count>;

  // A new state is zero words for the runtime and State{} for the user: words are kept as their difference to State{}.
  static word_array difference(word_array words) noexcept {
    const auto fresh = std::bit_cast<word_array>(State{});
    for (std::size_t i = 0; i < word_count; ++i) words[i] ^= fresh[i];
    return words;
  }
  static State state_of(std::span<const std::uint64_t> words) noexcept {
    check_state_size(words.size(), word_count);
    word_array copy;
    for (std::size_t i = 0; i < word_count; ++i) copy[i] = words[i];
    return std::bit_cast<State>(difference(copy));
  }
  static void store(const State& state, std::span<std::uint64_t> words) noexcept {
    const word_array made = difference(std::bit_cast<word_array>(state));
    for (std::size_t i = 0; i < word_count; ++i) words[i] = made[i];
  }

  std::string name_;
};

/// The same of one output and one label, those that are chosen for the sink:
///
///   struct confidence { double sum = 0; std::uint64_t count = 0; };
///   class mean_confidence final : public troupe::metric_of<confidence> { ... update, merge, compute ... };
///
template <metric_state State>
class metric_of : public part_metric_of<State> {
 protected:
  using part_metric_of<State>::part_metric_of;

  /// Adds one micro-batch; see metric::update_words.
  [[nodiscard]] virtual expected<void> update(const at::Tensor& outputs, const at::Tensor& labels,
                                              State& state) const = 0;

 private:
  [[nodiscard]] expected<void> update_part(const scored_part& part, State& state) const final {
    const auto output = part.output();
    if (!output) return tl::make_unexpected(output.error());
    const auto label = part.label();
    if (!label) return tl::make_unexpected(label.error());
    return update(**output, **label, state);
  }
};

/// A metric that keeps one plain struct for each sample, or as many as collect() appends, and is computed from all of
/// them at the end, in the order of the samples: what needs sorting, or pairs of samples. Its memory grows with the
/// samples (metric).
template <metric_state Row>
class row_metric : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept final { return name_; }
  [[nodiscard]] std::size_t words() const noexcept final { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept final { return sizeof(Row); }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const final {
    std::vector<Row> made;
    if (expected<void> done = collect(part, made); !done) return done;
    const auto bytes = std::as_bytes(std::span(made));
    rows.insert(rows.end(), bytes.begin(), bytes.end());
    return {};
  }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const final {}
  [[nodiscard]] metric_value compute_total(const metric_total& total) const final {
    check_state_size(total.rows.size() % sizeof(Row), 0);
    std::vector<Row> rows(total.rows.size() / sizeof(Row));
    if (!rows.empty()) std::memcpy(rows.data(), total.rows.data(), total.rows.size());
    return compute(rows);
  }

 protected:
  explicit row_metric(std::string name) : name_(std::move(name)) {}

  /// Appends the rows of one micro-batch; see metric::update_words.
  [[nodiscard]] virtual expected<void> collect(const scored_part& part, std::vector<Row>& rows) const = 0;
  [[nodiscard]] virtual metric_value compute(std::span<const Row> rows) const = 0;

 private:
  std::string name_;
};

struct mean_state {
  double sum = 0;
  std::uint64_t count = 0;
};

/// A metric that is a mean over samples or elements. Derived classes write update() only, which adds to sum and count.
/// The fields are mean, sum and count; the mean over nothing is NaN.
class mean_metric : public metric_of<mean_state> {
 protected:
  using metric_of::metric_of;
  void merge(mean_state& total, const mean_state& part) const final {
    total.sum += part.sum;
    total.count += part.count;
  }
  [[nodiscard]] metric_value compute(const mean_state& total) const final {
    const double mean = total.sum / static_cast<double>(total.count);
    return {name(),
            {real_field("mean", mean), real_field("sum", total.sum), count_field("count", total.count)},
            metric_form::mean};
  }
};

}  // namespace troupe
