#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/training/autograd_body.hpp"
#include "runtime/training/layer_part.hpp"

namespace troupe::testing {

inline constexpr optimizer_options adamw{.kind = optimizer_kind::adamw, .weight_decay = 0.01};

/// For what has to succeed, and gives nothing that is looked at.
template <class T>
void must(expected<T> done) {
  if (!done) throw error_exception(done.error());
}

/// A payload as an edge between processes gives it: in memory that cannot be written, and is gone with its last tensor.
inline payload_ptr through_bytes(const payload_ptr& given) {
  if (given == nullptr) return given;
  const tensor_codec codec;
  const std::size_t bytes = codec.size_of(*given);
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  codec.write(*given, {static_cast<std::byte*>(mapped), bytes});
  mprotect(mapped, bytes, PROT_READ);
  const std::shared_ptr<const void> owner(mapped, [bytes](void* memory) { munmap(memory, bytes); });
  return get(codec.read({static_cast<const std::byte*>(mapped), bytes}, owner));
}

/// The samples of a micro-batch; undefined inputs are an empty part.
struct plain_batch {
  at::Tensor inputs;
  at::Tensor labels;
};

/// The bodies of a pipeline, called by a loop: no engine, no edges.
class plain_pipeline {
 public:
  explicit plain_pipeline(std::vector<std::unique_ptr<autograd_body>> stages, std::uint64_t first_sample = 0)
      : stages_(std::move(stages)), first_sample_(first_sample) {}

  [[nodiscard]] std::vector<std::unique_ptr<autograd_body>>& stages() { return stages_; }

  /// Between stages there are edges between processes.
  void send_bytes() { sends_bytes_ = true; }

  /// All forward passes, and then all backward passes. Gives the votes. `stride`: the index of the next micro-batch of
  /// this replica.
  expected<void> passes(const std::vector<plain_batch>& batches, std::uint64_t first = 0, std::uint64_t stride = 1) {
    loss_sum_ = 0;
    std::vector<micro_batch_id> ids;
    std::uint64_t sample = next_sample_;
    for (std::size_t at = 0; at < batches.size(); ++at) {
      const auto rows = batches[at].inputs.defined() ? static_cast<std::uint64_t>(batches[at].inputs.size(0)) : 0;
      activation given{.id = {call_, first + at * stride},
                       .samples = {sample, sample + rows},
                       .tensors = nullptr,
                       .labels = nullptr};
      sample += rows;
      if (rows > 0) {
        given.tensors = make_tensors(batches[at].inputs);
        given.labels = make_tensors(batches[at].labels);
      } else {
        given.rows = std::make_shared<const row_set>();
      }
      for (const auto& stage : stages_) {
        activation made = given;
        if (auto done = stage->forward(given, made); !done) return done;
        given = made;
        given.tensors = sent(given.tensors);
      }
      if (const auto loss = take_loss(given.tensors)) {
        loss_sum_ += loss->sum;
        outputs_ = loss->outputs;
      }
      ids.push_back(given.id);
    }
    for (const micro_batch_id id : ids) {
      payload_ptr gradient;
      for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
        auto back = (*stage)->backward(id, gradient);
        if (!back) return tl::make_unexpected(back.error());
        gradient = sent(*back);
      }
    }
    return {};
  }

  /// One step of one replica; gives the mean loss.
  expected<double> step(const std::vector<plain_batch>& batches, double rate) {
    if (auto done = passes(batches); !done) return tl::make_unexpected(done.error());
    double weight = 0;
    const auto votes = finish();
    if (!votes) return tl::make_unexpected(votes.error());
    for (const step_vote& each : *votes) weight += each.weight;
    if (auto done = apply(1 / weight, rate); !done) return tl::make_unexpected(done.error());
    for (const plain_batch& each : batches) next_sample_ += static_cast<std::uint64_t>(each.inputs.size(0));
    return loss_sum_ / weight;
  }

  /// The votes of all stages of one replica.
  expected<std::vector<step_vote>> finish() {
    const auto ties = tied_sums();
    if (!ties) return tl::make_unexpected(ties.error());
    std::vector<step_vote> votes(stages_.size());
    for (std::size_t at = 0; at < stages_.size(); ++at) {
      std::vector<payload_ptr> tied;
      for (std::size_t other = 0; other < ties->size(); ++other) {
        if (other != at && (*ties)[other] != nullptr) tied.push_back((*ties)[other]);
      }
      if (auto done = stages_[at]->finish(call_, {}, tied, votes[at]); !done) return tl::make_unexpected(done.error());
    }
    return votes;
  }

  /// By stage, what it has for stages with which it shares weights.
  expected<std::vector<payload_ptr>> tied_sums() {
    std::vector<payload_ptr> made;
    for (const auto& stage : stages_) {
      auto sums = stage->tied_sums();
      if (!sums) return tl::make_unexpected(sums.error());
      made.push_back(sent(*sums));
    }
    return made;
  }

  expected<void> apply(double scale, double rate) {
    for (const auto& stage : stages_) {
      const step_decision decision{
          .call = call_, .step = stage->state().step(), .gradient_scale = scale, .learning_rate = rate};
      if (auto done = stage->apply(decision); !done) return done;
    }
    ++call_;
    return {};
  }

  [[nodiscard]] double loss_sum() const { return loss_sum_; }
  [[nodiscard]] call_number call() const { return call_; }
  /// Of the last micro-batch.
  [[nodiscard]] const payload_ptr& outputs() const { return outputs_; }

  /// Copies, of all stages, by name.
  [[nodiscard]] state_dict weights() const {
    state_dict all;
    for (const auto& stage : stages_) {
      for (const named_tensor& each : stage->weights()) all.push_back({each.name, each.tensor.clone()});
    }
    std::ranges::sort(all, {}, &named_tensor::name);
    return all;
  }
  [[nodiscard]] state_dict moments() const {
    state_dict all;
    for (const auto& stage : stages_) {
      for (const named_tensor& each : stage->moments()) all.push_back({each.name, each.tensor.clone()});
    }
    std::ranges::sort(all, {}, &named_tensor::name);
    return all;
  }

 private:
  [[nodiscard]] payload_ptr sent(const payload_ptr& given) const { return sends_bytes_ ? through_bytes(given) : given; }

  std::vector<std::unique_ptr<autograd_body>> stages_;
  bool sends_bytes_ = false;
  call_number call_ = 0;
  std::uint64_t first_sample_ = 0;
  std::uint64_t next_sample_ = first_sample_;
  double loss_sum_ = 0;
  payload_ptr outputs_;
};

/// `cuts`: where stages begin, without 0.
inline expected<std::vector<std::unique_ptr<autograd_body>>> stages_of(const std::vector<layer_spec>& specs,
                                                                       std::vector<std::size_t> cuts,
                                                                       const training_body_options& options) {
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(specs.size());
  std::vector<std::unique_ptr<autograd_body>> stages;
  for (std::size_t at = 0; at + 1 < cuts.size(); ++at) {
    auto part = make_layer_part(specs, cuts[at], cuts[at + 1], options.seed);
    if (!part) return tl::make_unexpected(part.error());
    training_body_options own = options;
    own.stage = static_cast<stage_index>(at);
    auto body = make_training_body(std::move(*part), std::move(own));
    if (!body) return tl::make_unexpected(body.error());
    (*body)->on_start();
    stages.push_back(std::move(*body));
  }
  return stages;
}

inline plain_pipeline pipeline_of(const std::vector<layer_spec>& specs, const std::vector<std::size_t>& cuts,
                                  const training_body_options& options) {
  return plain_pipeline(get(stages_of(specs, cuts, options)));
}

inline void expect_equal(const state_dict& found, const state_dict& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    EXPECT_EQ(found[at].name, wanted[at].name);
    EXPECT_TRUE(at::equal(found[at].tensor, wanted[at].tensor)) << wanted[at].name;
  }
}

}  // namespace troupe::testing
