#include "actors/workers/worker_claims.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

/// Errors that the driver alone can find. No stage can fail with one of them.
bool is_the_drivers_own(error_code code) {
  switch (code) {
    case error_code::deadline_passed:
    case error_code::interrupted:
    case error_code::call_cancelled:
    case error_code::work_lost:
    case error_code::stage_lost:
    case error_code::restarts_spent:
      return true;
    default:
      return false;
  }
}

std::string place_text(stage_address at) {
  return fmt::format("stage {}, replica {}", at.stage, at.replica);
}

}  // namespace

worker_place place_in(const wiring_plan& plan, stage_address at) {
  const wired_node& node = plan.nodes[at.stage];
  return {.address = at,
          .name = {},
          .sinks = node.sinks,
          .has_parts = nodes_with_parts(plan)[at.stage],
          .replicas = node.fixed_replica ? node.replicas : 1,
          .trains = plan.trains};
}

worker_claims::worker_claims(worker_place place, std::shared_ptr<const handed_out> sent, clock_function now)
    : place_(std::move(place)), sent_(std::move(sent)), now_(std::move(now)), since_(now_()) {}

void worker_claims::told_call(call_number call, std::vector<std::size_t> words) {
  words_.insert_or_assign(call, std::move(words));
  to_open_.insert(call);
}

/// The call stays in to_open_: its acknowledgement may still be on its way.
void worker_claims::told_end(call_number call) {
  words_.erase(call);
}

// --- fields that several messages have -------------------------------------------------------------------------------

objection worker_claims::to_identity(const char* message, stage_address address, incarnation_number incarnation) const {
  if (address != place_.address) {
    return fmt::format("{}.address is {}, and it is {}", message, place_text(address), place_text(place_.address));
  }
  if (incarnation != place_.incarnation) {
    return fmt::format("{}.incarnation is {}, and it is {}", message, incarnation, place_.incarnation);
  }
  return {};
}

objection worker_claims::to_id(const char* field, micro_batch_id id, handed_out::micro_batch found) const {
  if (found.now != handed_out::standing::never) return {};
  const bool has_begun = id.call < sent_->next_call();
  return has_begun
             ? fmt::format("{}.index is {}, and no such micro-batch of call {} was sent", field, id.index, id.call)
             : fmt::format("{}.call is {}, and no such call has begun", field, id.call);
}

// --- one message each ------------------------------------------------------------------------------------------------

objection worker_claims::to(const stage_ready& said) const {
  return to_identity("stage_ready", said.address, said.incarnation);
}

objection worker_claims::to(const score_batch& said) const {
  for (const score& each : said.scores) {
    if (auto wrong = to_score(each)) return wrong;
  }
  return {};
}

objection worker_claims::to_score(const score& said) const {
  if (said.sender_incarnation != place_.incarnation) {
    return fmt::format("score.sender_incarnation is {}, and it is {}", said.sender_incarnation, place_.incarnation);
  }
  if (std::ranges::find(place_.sinks, said.sink) == place_.sinks.end()) {
    return fmt::format("score.sink is {}, which is none of its own", said.sink);
  }
  const handed_out::micro_batch found = sent_->find(said.id);
  if (auto wrong = to_id("score.id", said.id, found)) return wrong;
  if (said.id.index % place_.replicas != place_.address.replica % place_.replicas) {
    return fmt::format("score.id.index is {}, which is another replica's", said.id.index);
  }
  if (auto wrong = to_samples(said, found)) return wrong;
  return to_words(said);
}

objection worker_claims::to_samples(const score& said, handed_out::micro_batch found) const {
  if (found.now != handed_out::standing::out) return {};
  const bool fits = place_.has_parts ? said.samples <= found.samples : said.samples == found.samples;
  if (fits) return {};
  return fmt::format("score.samples is {}, and {} has {}", said.samples, to_string(said.id), found.samples);
}

/// The score of an empty part has no words.
objection worker_claims::to_words(const score& said) const {
  const auto known = words_.find(said.id.call);
  if (known == words_.end() || said.sink >= known->second.size()) return {};
  const std::size_t wanted = known->second[said.sink];
  if (wanted == 0 || said.words.size() == wanted || (said.samples == 0 && said.words.empty())) return {};
  return fmt::format("score.words are {}, and the metrics have {}", said.words.size(), wanted);
}

objection worker_claims::to(const step_vote& said) const {
  if (!place_.trains) return "step_vote comes from a run that does not train";
  if (auto wrong = to_identity("step_vote", said.address, said.incarnation)) return wrong;
  if (said.epoch == 0 || said.epoch > epoch_) {
    return fmt::format("step_vote.epoch is {}, and the last one is {}", said.epoch, epoch_);
  }
  if (said.call >= sent_->next_call())
    return fmt::format("step_vote.call is {}, and no such call has begun", said.call);
  return {};
}

objection worker_claims::to(const failure& said) const {
  if (auto wrong = to_identity("failure", said.address, said.incarnation)) return wrong;
  if (!said.stage_name.empty() && said.stage_name != place_.name) return "failure.stage_name is another's";
  if (said.attempts > limits::forward_attempts_max) {
    return fmt::format("failure.attempts is {}, at most {} are made", said.attempts, limits::forward_attempts_max);
  }
  if (is_the_drivers_own(said.cause.code)) {
    return fmt::format("failure.cause.code is {}, which no stage can have found", code_name(said.cause.code));
  }
  if (!said.micro_batch) return {};
  return to_id("failure.micro_batch", *said.micro_batch, sent_->find(*said.micro_batch));
}

objection worker_claims::to(const stopped& said) const {
  if (auto wrong = to_identity("stopped", said.address, said.incarnation)) return wrong;
  if (!stops_) return "stopped comes unasked";
  if (const std::uint64_t most = sent_->deliveries(); said.micro_batches > most) {
    return fmt::format("stopped.micro_batches is {}, at most {} were sent", said.micro_batches, most);
  }
  const auto lived = static_cast<std::uint64_t>((now_() - since_).count());
  if (said.forward_nanoseconds > lived) {
    return fmt::format("stopped.forward_nanoseconds is {}, after {}", said.forward_nanoseconds, lived);
  }
  return {};
}

objection worker_claims::to(const edge_lost& said) const {
  if (!place_.loses_ends) return "edge_lost comes from a run whose edges are lost with a process alone";
  if (said.epoch == 0 || said.epoch > epoch_) {
    return fmt::format("edge_lost.epoch is {}, and the last one is {}", said.epoch, epoch_);
  }
  return {};
}

/// Which channels led to workers in an older epoch is not known any more.
objection worker_claims::to(const edge_damaged& said) const {
  if (said.epoch == 0 || said.epoch > epoch_) {
    return fmt::format("edge_damaged.epoch is {}, and the last one is {}", said.epoch, epoch_);
  }
  if (said.epoch < epoch_ || to_workers_.contains(said.channel)) return {};
  return fmt::format("edge_damaged.channel is {}, which does not lead to another worker", said.channel);
}

objection worker_claims::to(const call_opened& said) {
  if (to_open_.erase(said.call) != 0) return {};
  return fmt::format("call_opened.call is {}, which it was not asked to open", said.call);
}

// --- before it has become a stage ------------------------------------------------------------------------------------

objection objection_to(const worker_hello& said, const hello_facts& known) {
  if (!known.is_first) return "worker_hello comes a second time";
  if (known.pid && *known.pid != said.pid) {
    return fmt::format("worker_hello.pid is {}, and it is process {}", said.pid, *known.pid);
  }
  if (!known.edges->may_be_contact(said.edge_contact)) {
    return fmt::format("worker_hello.edge_contact is {}, where no edge of this run can lead", said.edge_contact);
  }
  return {};
}

std::string false_claim(const std::string& wrong) {
  return "it said what cannot be: " + wrong;
}

}  // namespace troupe
