#include "graph_bodies.hpp"

#include <algorithm>
#include <stdexcept>

#include "messages/try.hpp"
#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {
namespace {

using samples_by_row = std::map<std::uint32_t, std::uint64_t>;

struct row_payload final : payload {
  std::vector<std::uint64_t> values;
};

const std::vector<std::uint64_t>& values_of(const payload_ptr& handle) {
  return static_cast<const row_payload&>(*handle).values;
}

std::uint32_t row_at(const activation& part, std::size_t k) {
  return part.rows ? part.rows->at(k) : static_cast<std::uint32_t>(k);
}

void set_part(activation& output, const samples_by_row& samples) {
  auto made = std::make_shared<row_payload>();
  auto rows = std::make_shared<row_set>();
  for (const auto& [row, value] : samples) {
    rows->push_back(row);
    made->values.push_back(value);
  }
  // As in production: null where it is the whole, no tensors where it is empty.
  output.tensors = samples.empty() ? nullptr : std::move(made);
  output.rows = rows->size() == output.samples.size() ? nullptr : std::move(rows);
}

class graph_body final : public stage_body {
 public:
  graph_body(const graph_case& given, const wired_node& node)
      : given_(given), node_(node), fault_(given.faulty_node == node.name ? given.fault : body_fault::none) {}

  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override {
    const micro_batch_id id = inputs.front().id;
    keep_busy(id);
    if (given_.fail_always.contains({node_.name, id})) throw std::runtime_error("fails always");
    if (given_.fail_once.contains({node_.name, id}) && failed_.insert(id).second) {
      return fail(error_code::forward_failed, node_.name, "fails once");
    }
    samples_by_row mixed;
    TROUPE_TRY(mix_inputs(inputs, mixed));
    do_harm(mixed);
    for (std::size_t port = 0; port < outputs.size(); ++port) {
      samples_by_row taken;
      for (const auto& [row, value] : mixed) {
        if (node_.kind == node_kind::route && value % outputs.size() != port) continue;
        taken[row] = mix(value, port);
      }
      set_part(outputs[port], taken);
    }
    return {};
  }

 private:
  [[nodiscard]] expected<void> mix_inputs(std::span<const activation> inputs, samples_by_row& mixed) const {
    if (inputs.size() != node_.inputs.size()) throw std::logic_error("the engine left out a port");
    if (fault_ == body_fault::forgets_an_input && inputs.size() > 1) inputs = inputs.first(inputs.size() - 1);
    for (std::size_t port = 0; port < inputs.size(); ++port) {
      const activation& part = inputs[port];
      if (part.id != inputs.front().id) throw std::logic_error("parts of several micro-batches");
      for (std::size_t k = 0; k < part.row_count(); ++k) {
        const auto [place, is_new] = mixed.try_emplace(row_at(part, k), name_hash(node_.name));
        if (!is_new && node_.kind == node_kind::join) {
          return fail(error_code::forward_failed, node_.name, "two inputs hold the same sample");
        }
        place->second = mix(place->second, mix(values_of(part.tensors).at(k), port));
      }
    }
    return {};
  }

  void do_harm(samples_by_row& mixed) {
    if (mixed.empty()) return;
    if (fault_ == body_fault::loses_a_row) mixed.erase(std::prev(mixed.end()));
    if (fault_ == body_fault::repeats_a_row) mixed.rbegin()->second = mixed.begin()->second;
    if (fault_ != body_fault::takes_old_tensors) return;
    for (auto& [row, value] : mixed) std::swap(value, last_);
  }

  void keep_busy(micro_batch_id id) const {
    if (given_.work == 0) return;
    volatile std::uint64_t turns = mix(mix(name_hash(node_.name), id.call), id.index) % given_.work;
    while (turns > 0) turns = turns - 1;
  }

  const graph_case& given_;
  const wired_node node_;
  const body_fault fault_;
  std::set<micro_batch_id> failed_;
  std::uint64_t last_ = 0;
};

/// One word over the part's samples and where it comes from.
struct part_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& part, score& into) override {
    std::uint64_t word = part.samples.begin;
    for (std::size_t k = 0; k < part.row_count(); ++k) {
      word = mix(word, mix(row_at(part, k), values_of(outputs).at(k)));
    }
    into.words = {word};
    return {};
  }
};

struct sample_source final : micro_batch_source {
  sample_source(micro_batch_id first, std::uint64_t n, const graph_case& given)
      : call(first.call), end(n), bytes(given.micro_batch_bytes), rereads(given.is_rereadable), position(first.index) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    return made(position++);
  }
  [[nodiscard]] bool is_rereadable() const noexcept override { return rereads; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override { return made(index); }
  [[nodiscard]] loaded_micro_batch made(std::uint64_t index) const {
    const micro_batch_id id{call, index};
    auto rows = std::make_shared<row_payload>();
    for (std::uint32_t row = 0; row < rows_of_micro_batch(id); ++row) rows->values.push_back(sample_hash(id, row));
    const std::uint64_t before = samples_before(id);
    return {{before, before + rows->values.size()}, std::move(rows), nullptr, bytes};
  }
  call_number call;
  std::uint64_t end;
  std::uint64_t bytes;
  bool rereads;
  std::uint64_t position;
};

}  // namespace

std::uint64_t name_hash(const std::string& name) {
  std::uint64_t hash = name.size();
  for (const char each : name) hash = mix(hash, static_cast<unsigned char>(each));
  return hash;
}

std::uint64_t sample_hash(micro_batch_id id, std::uint32_t row) {
  return mix(mix(id.call + 1, id.index + 1), row);
}

std::uint32_t rows_of_micro_batch(micro_batch_id id) {
  return 1 + static_cast<std::uint32_t>(mix(id.call + 5, id.index) % 5);
}

std::uint64_t samples_before(micro_batch_id id) {
  std::uint64_t samples = 0;
  for (std::uint64_t index = 0; index < id.index; ++index) samples += rows_of_micro_batch({id.call, index});
  return samples;
}

std::shared_ptr<stage_body> make_graph_body(const graph_case& given, const wired_node& node) {
  return std::make_shared<graph_body>(given, node);
}

std::vector<graph_call> make_graph_calls(const graph_case& given,
                                         std::vector<std::vector<std::shared_ptr<hash_fold>>>& folds) {
  const auto sinks = std::ranges::count(given.graph.nodes(), node_kind::sink, &graph_node::kind);
  std::vector<graph_call> calls;
  for (call_number call = 0; call < given.calls.size(); ++call) {
    auto& of_call = folds.emplace_back(static_cast<std::size_t>(sinks));
    for (auto& each : of_call) each = std::make_shared<hash_fold>();
    const auto resumed = given.starts.find(call);
    const call_start start = resumed == given.starts.end() ? call_start{} : resumed->second;
    const micro_batch_id first{call, start.first()};
    calls.push_back({std::make_shared<sample_source>(first, given.calls[call], given),
                     [](std::uint32_t) { return std::make_shared<part_scorer>(); },
                     {of_call.begin(), of_call.end()},
                     start});
  }
  return calls;
}

}  // namespace troupe::testing
