#include "testing/simulation/hash_body.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "messages/try.hpp"
#include "testing/simulation/hash_chain.hpp"

namespace troupe::simulation {
namespace {

constexpr const char* no_exception = "something that is no std::exception";

using mixed_rows = std::array<std::optional<std::uint64_t>, samples_max>;

class hash_body final : public stage_body {
 public:
  hash_body(forward_surroundings& around, const plan& of, stage_index stage)
      : around_(around),
        node_(of.graph.nodes.at(stage)),
        stage_(stage),
        harm_(of.harmed_node == stage ? of.harm : body_harm::none),
        code_(node_.code && node_.code->make ? node_.code->make() : nullptr) {}

  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override {
    const micro_batch_id id = inputs.front().id;
    around_.begin_forward(stage_, id);
    mixed_rows mixed;
    TROUPE_TRY(mix_inputs(inputs, mixed));
    const std::uint64_t word = compute(id, outputs, mixed);
    around_.end_forward(id, word, static_cast<std::uint64_t>(std::ranges::count_if(mixed, has_value)));
    if (harm_ != body_harm::none) do_harm(inputs, outputs);
    return {};
  }

 private:
  std::uint64_t compute(micro_batch_id id, std::span<activation> outputs, mixed_rows& mixed) try {
    if (code_) run_code(id, mixed);
    return set_parts(outputs, mixed);
  } catch (const std::exception& thrown) {
    around_.code_threw(id, thrown.what());
    throw;
  } catch (...) {
    around_.code_threw(id, no_exception);
    throw;
  }

  void run_code(micro_batch_id id, mixed_rows& mixed) {
    std::vector<std::uint64_t> samples;
    for (const auto& each : mixed) {
      if (each) samples.push_back(*each);
    }
    code_(id, samples);
    std::size_t next = 0;
    for (auto& each : mixed) {
      if (each) each = samples[next++];
    }
  }

  static bool has_value(const std::optional<std::uint64_t>& each) { return each.has_value(); }

  [[nodiscard]] expected<void> mix_inputs(std::span<const activation> inputs, mixed_rows& mixed) const {
    for (std::size_t port = 0; port < inputs.size(); ++port) {
      const activation& part = inputs[port];
      for (std::size_t k = 0; k < part.row_count(); ++k) {
        std::optional<std::uint64_t>& place = mixed.at(row_at(part, k));
        if (place && node_.sort == node_sort::join) {
          return fail(error_code::forward_failed, "join", "two inputs hold the same sample");
        }
        place = mix(place.value_or(stage_ + 1), mix(values_of(part.tensors).values.at(k), port));
      }
    }
    return {};
  }

  /// The word over all of them.
  [[nodiscard]] std::uint64_t set_parts(std::span<activation> outputs, const mixed_rows& mixed) const {
    std::uint64_t word = 0;
    for (std::size_t port = 0; port < outputs.size(); ++port) {
      set_part(outputs[port], mixed, port);
      word = mix(word, word_of(outputs[port], outputs[port].tensors));
    }
    return word;
  }

  void set_part(activation& output, const mixed_rows& mixed, std::size_t port) const {
    auto made = std::make_shared<hash_payload>();
    row_set rows;
    for (std::uint32_t row = 0; row < mixed.size(); ++row) {
      if (!mixed[row] || (node_.sort == node_sort::route && case_of(node_, *mixed[row]) != port)) continue;
      rows.push_back(row);
      made->add(mix(*mixed[row], port));
    }
    // As in production: null where it is the whole, no tensors where it is empty.
    output.tensors = rows.empty() ? nullptr : std::move(made);
    output.rows = rows.size() == output.samples.size() ? nullptr : std::make_shared<const row_set>(std::move(rows));
  }

  /// Of which nothing is said.
  void do_harm(std::span<const activation> inputs, std::span<activation> outputs) {
    std::vector<activation> harmed(inputs.begin(), inputs.end());
    if (harm_ == body_harm::forgets_an_input && harmed.size() > 1) harmed.pop_back();
    if (harm_ == body_harm::takes_old_parts) harmed.back().tensors = with_old_values(harmed.back());
    mixed_rows mixed;
    static_cast<void>(mix_inputs(harmed, mixed));
    const auto last = std::ranges::find_if(mixed.rbegin(), mixed.rend(), has_value);
    if (last == mixed.rend()) return;
    if (harm_ == body_harm::loses_a_row) last->reset();
    if (harm_ == body_harm::repeats_a_row) *last = *std::ranges::find_if(mixed, has_value);
    static_cast<void>(set_parts(outputs, mixed));
  }

  /// Of the micro-batch before, as far as it had rows: for a node with several inputs the wrong partners.
  [[nodiscard]] payload_ptr with_old_values(const activation& part) {
    if (part.is_empty_part()) return nullptr;
    auto made = std::make_shared<hash_payload>();
    while (made->count < part.row_count()) {
      const std::size_t k = made->count;
      made->add(std::exchange(old_.at(k), values_of(part.tensors).values.at(k)));
    }
    return made;
  }

  forward_surroundings& around_;
  const node_plan& node_;
  const stage_index stage_;
  const body_harm harm_;
  const std::function<void(micro_batch_id, std::span<std::uint64_t>)> code_;
  std::array<std::uint64_t, samples_max> old_{};
};

}  // namespace

std::shared_ptr<stage_body> make_hash_body(forward_surroundings& around, const plan& of, stage_index stage) {
  return std::make_shared<hash_body>(around, of, stage);
}

}  // namespace troupe::simulation
