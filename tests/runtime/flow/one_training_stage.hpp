// One engine that trains, with the other ends of its edges, for one thread.
#pragma once

#include <string>
#include <vector>

#include "hash_training.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/training_stage_engine.hpp"

namespace troupe::testing {

struct one_training_stage {
  /// As stage `stage` of `stages`; of `replicas`, it is the first.
  explicit one_training_stage(stage_index stage, std::uint32_t stages, std::uint32_t replicas = 1)
      : is_last(stage + 1 == stages),
        body(std::make_shared<hash_training_body>(memory, is_last)),
        engine({.name = "stage " + std::to_string(stage),
                .address = {stage, 0},
                .stages = stages,
                .replicas = replicas,
                .sinks = is_last ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{},
                .now = [this] { return now; }},
               body) {
    memory->weights = first_weights(stage);
    stage_listener listener;
    listener.on_scores = [this](const std::vector<score>& batch) {
      for (const score& each : batch) heard += "score " + text_of(each.id) + " ";
    };
    listener.on_vote = [this](const step_vote& vote) {
      heard += "vote " + std::to_string(vote.call) + " in " + std::to_string(vote.epoch) + " ";
    };
    listener.on_failure = [this](failure what) { failures.push_back(std::move(what)); };
    listener.on_finished = [this] { heard += "finished "; };
    engine.listen(std::move(listener));
    start_epoch({0, 0}, stage, stages, replicas);
  }

  static std::string text_of(micro_batch_id id) { return std::to_string(id.call) + "." + std::to_string(id.index); }

  [[nodiscard]] edge_ends edge(std::uint32_t slots) {
    return edges.make({.slots = slots, .producer_bell = nullptr, .consumer_bell = nullptr});
  }

  void start_epoch(micro_batch_id first, stage_index stage, std::uint32_t stages, std::uint32_t replicas = 1) {
    auto wiring = std::make_shared<engine_wiring>();
    edge_ends down = edge(live_micro_batches_max(stages, stage));
    wiring->inbound.push_back({0, std::move(down.consumer)});
    input = std::move(down.producer);
    if (!is_last) {
      edge_ends next = edge(2);
      wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(next.producer));
      output = std::move(next.consumer);
      edge_ends up = edge(2);
      wiring->gradients_in = std::move(up.consumer);
      gradients = std::move(up.producer);
    }
    if (stage > 0) {
      edge_ends before = edge(2);
      wiring->gradients_out = std::move(before.producer);
      gradients_sent = std::move(before.consumer);
    }
    peers.clear();
    for (replica_index other = 1; other < replicas; ++other) {
      edge_ends to = edge(2);
      edge_ends from = edge(2);
      wiring->peers.push_back(
          {.address = {stage, other}, .to = std::move(to.producer), .from = std::move(from.consumer)});
      peers.push_back({std::move(from.producer), std::move(to.consumer)});
    }
    order(stage_command::start_epoch{std::move(wiring), first, ++epoch});
    run();
  }

  void order(stage_command_t command) {
    if (!engine.command(std::move(command))) throw std::runtime_error("the queue is full");
  }
  void open(call_number call, bool trains = true) {
    stage_command::open_call made{.call = call, .scorers = {}, .trains = trains};
    if (is_last) made.scorers = {std::make_shared<hash_output_scorer>()};
    order(std::move(made));
    run();
  }
  void decide(call_number call) {
    order(stage_command::decide_step{{.call = call, .step = call}});
    run();
  }

  [[nodiscard]] static activation message(micro_batch_id id) {
    return {
        .id = id, .samples = {10 * id.index, 10 * id.index + 10}, .tensors = boxed(input_of(id)), .labels = nullptr};
  }
  bool send(micro_batch_id id) {
    activation made = message(id);
    const bool is_sent = input->try_send(made) == send_status::sent;
    run();
    return is_sent;
  }
  void flush(call_number call) {
    input->send_flush(call);
    run();
  }
  void send_gradient(micro_batch_id id) {
    activation made = message(id);
    if (gradients->try_send(made) != send_status::sent) throw std::runtime_error("no room for a gradient");
    run();
  }
  /// "0.1": the next one that the consumer gets, and releases; empty if there is none.
  static std::string received(edge_consumer& by) {
    const auto got = by.try_receive();
    if (!got) return {};
    by.release();
    return text_of(got->id) + (got->is_empty_part() ? " empty" : "");
  }

  void run() {
    for (int steps = 0; steps < 40; ++steps) static_cast<void>(engine.step());
  }
  [[nodiscard]] std::string take_heard() { return std::exchange(heard, {}); }

  bool is_last;
  std::shared_ptr<stage_memory> memory = std::make_shared<stage_memory>();
  std::chrono::nanoseconds now{0};
  std::string heard;
  std::vector<failure> failures;
  epoch_number epoch = 0;
  std::shared_ptr<hash_training_body> body;
  inproc_edge_factory edges;
  training_stage_engine engine;

  std::unique_ptr<edge_producer> input;
  std::unique_ptr<edge_consumer> output;
  std::unique_ptr<edge_producer> gradients;
  std::unique_ptr<edge_consumer> gradients_sent;
  struct peer {
    std::unique_ptr<edge_producer> to_engine;
    std::unique_ptr<edge_consumer> from_engine;
  };
  std::vector<peer> peers;
};

}  // namespace troupe::testing
