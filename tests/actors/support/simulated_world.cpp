#include "simulated_world.hpp"

#include <algorithm>
#include <sstream>

#include "hashes.hpp"
#include <troupe/limits.hpp>

namespace troupe::testing {
namespace {

std::uint64_t input_hash(micro_batch_id id) {
  return mix(id.call + 1, id.index + 1);
}

struct hash_payload final : payload {
  explicit hash_payload(std::uint64_t v) : value(v) {}
  std::uint64_t value;
};

std::uint64_t value_of(const payload_ptr& handle) {
  return static_cast<const hash_payload&>(*handle).value;
}

struct hash_body final : unary_body {
  hash_body(stage_index s, const world_options& o) : stage(s), options(o) {}
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override {
    if (stage == 0 && options.fail_always.contains(input.id)) throw std::runtime_error("fails always");
    if (stage == 0 && options.fail_once.contains(input.id) && failed.insert(input.id).second) {
      return fail(error_code::forward_failed, "test", "fails once");
    }
    return std::make_shared<const hash_payload>(mix(value_of(input.tensors), stage));
  }
  stage_index stage;
  const world_options& options;
  std::set<micro_batch_id> failed;
};

struct hash_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation&, score& into) override {
    into.words = {value_of(outputs)};
    return {};
  }
};

struct counted_source final : micro_batch_source {
  counted_source(call_number c, std::uint64_t n, const world_options& options)
      : call(c), end(n), bytes(options.micro_batch_bytes), rereads(options.is_rereadable) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    return made(position++);
  }
  [[nodiscard]] bool is_rereadable() const noexcept override { return rereads; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override { return made(index); }
  [[nodiscard]] loaded_micro_batch made(std::uint64_t index) const {
    return {{index, index + 1}, std::make_shared<const hash_payload>(input_hash({call, index})), nullptr, bytes};
  }
  call_number call;
  std::uint64_t end;
  std::uint64_t bytes;
  bool rereads;
  std::uint64_t position = 0;
};

stepped_options stepped(const world_options& options, const std::vector<std::shared_ptr<hash_fold>>& folds) {
  stepped_options made;
  made.seed = options.seed;
  made.graph = make_chain(
      {.stages = options.stages, .replicas = options.replicas, .num_pipe_buffers = options.num_pipe_buffers});
  made.make_body = [&options](const wired_node&, stage_address at) {
    return std::make_shared<hash_body>(at.stage, options);
  };
  made.depths = options.depths;
  if (options.slowness_of_replica_0 > 1) {
    for (stage_index stage = 0; stage < options.stages; ++stage) {
      made.slowness[{stage, 0}] = options.slowness_of_replica_0;
    }
  }
  made.enforce_credits = options.enforce_credits;
  for (call_number call = 0; call < options.calls.size(); ++call) {
    made.calls.push_back({std::make_shared<counted_source>(call, options.calls[call], options),
                          [](std::uint32_t) { return std::make_shared<hash_scorer>(); },
                          {folds[call]}});
  }
  return made;
}

}  // namespace

world_report simulate(const world_options& options) {
  std::vector<std::shared_ptr<hash_fold>> folds(options.calls.size());
  for (auto& each : folds) each = std::make_shared<hash_fold>();
  world_report report;
  static_cast<stepped_report&>(report) = run_stepped(stepped(options, folds));
  for (std::size_t call = 0; call < folds.size(); ++call) {
    report.calls.push_back({std::move(report.outcomes[call]), folds[call]->folded, folds[call]->digest});
    report.moves_digest = mix(report.moves_digest, folds[call]->digest);
  }
  return report;
}

std::uint64_t expected_digest(const world_options& options, call_number call) {
  std::uint64_t digest = 0;
  for (std::uint64_t index = 0; index < options.calls[call]; ++index) {
    std::uint64_t value = input_hash({call, index});
    for (stage_index stage = 0; stage < options.stages; ++stage) value = mix(value, stage);
    digest = fold_step(digest, 1, value);
  }
  return digest;
}

std::string fault_in(const world_options& options, const world_report& report) {
  if (report.deadlock) return "the run did not end";
  if (report.overrun) return "an edge held more micro-batches than it has slots";
  if (report.kept_max > kept_limit(report, options.micro_batch_bytes))
    return "the loader ran further ahead than its window";
  for (call_number call = 0; call < options.calls.size(); ++call) {
    const call_report& each = report.calls[call];
    const std::string name = "call " + std::to_string(call) + ": ";
    const auto of_call = [&](const micro_batch_id& id) { return id.call == call && id.index < options.calls[call]; };
    if (std::any_of(options.fail_always.begin(), options.fail_always.end(), of_call)) {
      if (!each.outcome.tally.cancelled || !each.outcome.cause) return name + "a failed forward did not fail the call";
      continue;
    }
    if (each.outcome.tally.cancelled) return name + "cancelled: " + to_string(*each.outcome.cause);
    if (each.outcome.tally.folded != options.calls[call]) return name + "folded the wrong number of micro-batches";
    if (each.outcome.tally.expected != options.calls[call]) return name + "the loader counted wrong";
    if (each.folded.size() != options.calls[call]) return name + "a micro-batch was folded twice or never";
    if (each.digest != expected_digest(options, call)) return name + "wrong bits, or folded out of order";
  }
  return {};
}

std::vector<std::uint32_t> world_options::pipe_buffers() const {
  if (num_pipe_buffers) return {*num_pipe_buffers};
  std::vector<std::uint32_t> found(stages, std::max(limits::pipe_buffers_default, depths.between_stages));
  found.front() = limits::pipe_buffers_default;  // its other neighbour is the loader
  return found;
}

std::string describe(const world_options& o) {
  std::ostringstream text;
  text << "seed " << o.seed << ", stages " << o.stages << ", replicas " << o.replicas << ", buffers "
       << o.num_pipe_buffers.value_or(0) << ", slots " << o.depths.from_loader << " and " << o.depths.between_stages
       << ", slowness " << o.slowness_of_replica_0 << ", bytes " << o.micro_batch_bytes
       << (o.is_rereadable ? ", read again" : "") << ", calls";
  for (const std::uint64_t count : o.calls) text << ' ' << count;
  return text.str();
}

}  // namespace troupe::testing
