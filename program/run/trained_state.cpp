#include "program/run/trained_state.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/run/state_copy.hpp"
#include "program/run/trained_parts.hpp"
#include "runtime/os/shared_memory.hpp"
#include "runtime/training/autograd_body.hpp"
#include "runtime/training/named_state.hpp"

namespace troupe {
namespace {

constexpr std::chrono::microseconds look_pause{50};

/// A stage's layers, and how they lie in its memory.
struct stage_layers {
  std::unique_ptr<trained_part> part;
  parameter_layout layout;

  [[nodiscard]] static expected<stage_layers> make(const checked_run& run, stage_index stage,
                                                   const trained_pipeline& from) {
    const cut_node& place = *run.part_at(stage);
    const cut_pipeline& pipeline = run.parts().pipelines.at(place.pipeline);
    auto part = TROUPE_TRY(
        make_trained_part(pipeline, from.graph, from.boundaries[place.part], from.boundaries[place.part + 1]));
    parameter_layout layout = TROUPE_TRY(layout_of(*part, pipeline.options.training->optimizer));
    return stage_layers{std::move(part), std::move(layout)};
  }
};

void append(state_dict& all, const state_dict& views, const state_copy& from) {
  for (const named_tensor& each : views) all.push_back({each.name, from.kept(each.tensor)});
}

/// All entries of the model's table, in its order. Names of one weight share its tensor.
state_dict by_table(const graph_weights& table, const state_dict& of_stages) {
  std::unordered_map<std::string_view, at::Tensor> known;
  for (const named_tensor& each : of_stages) known.emplace(each.name, each.tensor);
  state_dict all;
  for (const graph_weight& each : table) {
    at::Tensor& value = known[table.find(each.tensor)->name];
    if (!value.defined()) value = each.tensor.detach().clone();  // no operator reads it
    all.push_back({each.name, value});
  }
  return all;
}

tl::unexpected<error> lost_memory(const std::string& stage, std::string cause) {
  return fail(error_code::training_state_lost, stage, std::move(cause),
              "set training_options::protect, or load the last checkpoint into a new engine");
}

}  // namespace

class stage_state_reader::stage {
 public:
  stage(const checked_run& run, const started_run& stages, stage_index index, stage_layers layers, bool keeps_rooms)
      : run_(run), stages_(stages), index_(index), layers_(std::move(layers)), keeps_rooms_(keeps_rooms) {}

  expected<void> read(const std::optional<step_decision>& last, training_snapshot& into) {
    auto copy = TROUPE_TRY(copy_of(0));
    TROUPE_TRY(wait_for(copy, last));
    TROUPE_TRY(copy.read_current());
    append_all(copy, into);
    return {};
  }

  expected<void> read_left(const std::optional<step_decision>& last, training_snapshot& into) {
    const std::uint32_t replicas = run_.plan.nodes[index_].replicas;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      auto copy = TROUPE_TRY(copy_of(replica));
      if (!copy.look() || !copy.values()) continue;
      const bool has_decided = copy.has_decided(last);
      if (!has_decided && !copy.can_decide(*last)) continue;
      if (!(has_decided ? copy.read_current() : copy.read_all())) continue;
      if (!has_decided) TROUPE_TRY(copy.values()->apply(*last));
      append_all(copy, into);
      return {};
    }
    return lost_memory(name(), "no replica has its weights any more");
  }

 private:
  [[nodiscard]] const std::string& name() const { return run_.plan.nodes[index_].name; }

  /// Memory whose tensors are gone, or new memory.
  [[nodiscard]] expected<at::Tensor> room() {
    for (const at::Tensor& each : rooms_) {
      if (each.storage().use_count() == 1) return each;
    }
    auto made = TROUPE_TRY(state_copy::make_room(layers_.layout));
    if (!keeps_rooms_) return made;
    if (rooms_.size() == 2) rooms_.erase(rooms_.begin());
    rooms_.push_back(made);
    return made;
  }

  [[nodiscard]] expected<state_copy> copy_of(std::uint32_t replica) {
    const stage_address at{index_, replica};
    auto fetch = [this, at, &memory = stages_.states.at(at)](std::uint64_t offset,
                                                             std::span<std::byte> into) -> expected<void> {
      const auto got = stages_.running->read_state(at, memory, offset, into);
      if (!got) {
        if (got.error().code != error_code::node_lost) return tl::make_unexpected(got.error());
        return lost_memory(name(), "its weights were on a node that is lost: " + got.error().cause);
      }
      // a stage that has not begun has not made its memory as large as it will be
      std::ranges::fill(into.subspan(*got), std::byte{0});
      return {};
    };
    auto into = TROUPE_TRY(room());
    return state_copy(layers_.layout, std::move(fetch), std::move(into));
  }

  /// Another process, or thread, carries it out. Where something was decided, there were weights.
  expected<void> wait_for(state_copy& copy, const std::optional<step_decision>& last) const {
    const auto until = std::chrono::steady_clock::now() +
                       (last ? limits::control_request_timeout : run_.options.workers.start_deadline);
    for (;;) {
      TROUPE_TRY(copy.look());
      if (copy.has_decided(last)) return {};
      if (last && !copy.values()) return lost_memory(name(), "its weights were destroyed");
      if (std::chrono::steady_clock::now() > until) {
        return fail(error_code::stage_unresponsive, name(),
                    last ? "it has not carried out the decision of the last step" : "it has not made its weights",
                    "look for the stage that is stuck");
      }
      std::this_thread::sleep_for(look_pause);
    }
  }

  void append_all(const state_copy& copy, training_snapshot& into) const {
    append(into.weights, weights_of(*layers_.part, *copy.values()), copy);
    append(into.moments, moments_of(*layers_.part, *copy.values()), copy);
    into.step = copy.values()->step();
  }

  const checked_run& run_;
  const started_run& stages_;
  const stage_index index_;
  const stage_layers layers_;
  const bool keeps_rooms_;
  /// That of the newest copy, and the one before it.
  std::vector<at::Tensor> rooms_;
};

stage_state_reader::stage_state_reader(const checked_run& run, const started_run& stages, bool reads_often)
    : run_(run), stages_(stages), reads_often_(reads_often) {}
stage_state_reader::~stage_state_reader() = default;

template <class Read>
expected<training_snapshot> stage_state_reader::read_all(const Read& read) {
  training_snapshot all;
  for (stage_index index = 0; index + 1 < run_.plan.nodes.size(); ++index) {
    auto& opened = opened_[index];
    if (!opened) {
      auto layers = TROUPE_TRY(stage_layers::make(run_, index, stages_.trained.at(run_.part_at(index)->pipeline)));
      opened = std::make_unique<stage>(run_, stages_, index, std::move(layers), reads_often_);
    }
    TROUPE_TRY(read(*opened, all));
  }
  const trained_pipeline& model = stages_.trained.begin()->second;
  if (model.graph) all.weights = by_table(model.graph->model().weights, all.weights);
  return all;
}

expected<training_snapshot> stage_state_reader::read(const std::optional<step_decision>& last) {
  return read_all([&](stage& each, training_snapshot& into) { return each.read(last, into); });
}

expected<training_snapshot> stage_state_reader::read_left(const std::optional<step_decision>& last) {
  return read_all([&](stage& each, training_snapshot& into) { return each.read_left(last, into); });
}

expected<void> write_training(const training_snapshot& from, const checked_run& run, stage_index stage,
                              const trained_pipeline& pipeline, const blob& memory) {
  const auto layers = TROUPE_TRY(stage_layers::make(run, stage, pipeline));
  auto descriptor = TROUPE_TRY(memory.copy());
  auto file = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), 1));
  TROUPE_TRY(file.grow(layers.layout.bytes()));
  const auto mapped = TROUPE_TRY(file.map(0, layers.layout.bytes()));
  const auto made = TROUPE_TRY(
      trained_parameters::create(layers.layout, layers.part->parameters(), layers.part->buffers(), mapped.bytes()));
  return restore(*made, *layers.part, from.weights, from.moments, from.step);
}

}  // namespace troupe
