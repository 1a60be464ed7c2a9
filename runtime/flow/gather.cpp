#include "runtime/flow/gather.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {

gather::gather(gather_options options) : options_(options), next_{0, options.replica} {
  TROUPE_CHECK(options.ports >= 1 && (options.ports == 1 || options.keeps_order),
               "parts of several ports meet only where ids are taken in order");
  TROUPE_CHECK(options.replica < options.replicas, "a replica is one of its node's");
}

void gather::add_edge(std::size_t port, std::unique_ptr<edge_consumer> edge) {
  TROUPE_CHECK(port < options_.ports, "an edge leads into a port");
  edges_.push_back({std::move(edge), port, std::nullopt});
}

bool gather::take(std::vector<activation>& parts) {
  parts.clear();
  return options_.keeps_order ? take_next(parts) : take_any(parts);
}

bool gather::take_any(std::vector<activation>& parts) {
  for (std::size_t tried = 0; tried < edges_.size(); ++tried) {
    input_edge& edge = edges_[(turn_ + tried) % edges_.size()];
    auto message = edge.consumer->try_receive();
    if (!message) continue;
    turn_ = (turn_ + tried + 1) % edges_.size();
    parts.push_back(std::move(*message));
    in_use_.push_back({++takes_, &edge});
    return true;
  }
  return false;
}

bool gather::take_next(std::vector<activation>& parts) {
  if (edges_.empty()) return false;
  fill_heads();
  for (call_number open = first_open_call(); open != next_.call; open = first_open_call()) next_ = own_from({open, 0});
  for (std::size_t port = 0; port < options_.ports; ++port) {
    if (holder_of_next(port) == nullptr) return false;
  }
  ++takes_;
  for (std::size_t port = 0; port < options_.ports; ++port) {
    input_edge* edge = holder_of_next(port);
    parts.push_back(std::move(*edge->head));
    edge->head.reset();
    in_use_.push_back({takes_, edge});
  }
  next_.index += options_.replicas;
  return true;
}

void gather::fill_heads() {
  for (input_edge& edge : edges_) {
    while (!edge.head) {
      edge.head = edge.consumer->try_receive();
      if (!edge.head) break;
      if (!is_over(edge.head->id)) break;
      edge.head.reset();
      edge.consumer->release();
    }
  }
}

/// Ids of an edge ascend, so a micro-batch of a later call says as much as the flush of the calls before it. The result
/// skips all ended calls at once: a stage that was started later has the first call of the run as its next one.
call_number gather::first_open_call() const {
  if (skipped_.contains(next_.call)) return next_.call + 1;
  std::optional<call_number> first;
  for (const input_edge& edge : edges_) {
    const auto ended = edge.head ? std::nullopt : edge.consumer->flushed_through();
    const call_number open = edge.head ? edge.head->id.call : ended ? *ended + 1 : next_.call;
    first = std::min(first.value_or(open), open);
  }
  return std::max(first.value_or(next_.call), next_.call);
}

gather::input_edge* gather::holder_of_next(std::size_t port) {
  const auto found = std::ranges::find_if(
      edges_, [&](const input_edge& edge) { return edge.port == port && edge.head && edge.head->id == next_; });
  return found == edges_.end() ? nullptr : &*found;
}

void gather::release(std::uint64_t take) noexcept {
  std::erase_if(in_use_, [take](const used_slot& each) {
    if (each.take == take) each.edge->consumer->release();
    return each.take == take;
  });
}

void gather::release() noexcept {
  for (const used_slot& each : in_use_) each.edge->consumer->release();
  in_use_.clear();
}

void gather::drop_what_is_over() {
  if (options_.keeps_order) fill_heads();
}

micro_batch_id gather::own_from(micro_batch_id from) const {
  const auto found = firsts_.find(from.call);
  if (found != firsts_.end()) from.index = std::max(from.index, found->second);
  const std::uint64_t past = from.index % options_.replicas;
  return {from.call, from.index + (options_.replica + options_.replicas - past) % options_.replicas};
}

void gather::begin(call_number call, std::uint64_t first) {
  if (!options_.keeps_order || first == 0 || call < first_open_) return;
  firsts_[call] = first;
  if (next_.call == call) next_ = own_from(next_);
}

void gather::skip(call_number call) {
  if (!options_.keeps_order) return;  // the engine drops the micro-batches of the call that it takes
  skipped_.insert(call);
  for (input_edge& edge : edges_) {
    if (!edge.head || !is_over(edge.head->id)) continue;
    edge.head.reset();
    edge.consumer->release();
  }
}

/// Calls end in order, so no micro-batch of this call or an earlier one is awaited any more. The entries of these
/// calls are erased, since `skipped_` and `firsts_` would otherwise grow with the number of calls of a run.
void gather::forget(call_number call) {
  if (!options_.keeps_order) return;
  first_open_ = std::max(first_open_, call + 1);
  next_ = std::max(next_, own_from({call + 1, 0}));
  firsts_.erase(firsts_.begin(), firsts_.upper_bound(call));
  skip(call);
  skipped_.erase(skipped_.begin(), skipped_.upper_bound(call));
}

std::optional<call_number> gather::flushed_through() const noexcept {
  std::optional<call_number> ended;
  for (const input_edge& edge : edges_) {
    auto each = edge.consumer->flushed_through();
    // The head of an edge has not been taken, and so its call has not ended here.
    if (each && edge.head && edge.head->id.call <= *each) {
      each = edge.head->id.call == 0 ? std::nullopt : std::optional<call_number>(edge.head->id.call - 1);
    }
    if (!each) return std::nullopt;
    ended = ended ? std::min(*ended, *each) : *each;
  }
  return ended;
}

bool gather::exhausted() const noexcept {
  return !edges_.empty() &&
         std::ranges::all_of(edges_, [](const input_edge& edge) { return !edge.head && edge.consumer->exhausted(); });
}

void gather::start_over(micro_batch_id from) {
  TROUPE_CHECK(in_use_.empty(), "what is in work belongs to the edges that go");
  for (input_edge& edge : edges_) edge.consumer->abandon();
  edges_.clear();
  turn_ = 0;
  next_ = std::max(own_from(from), own_from({first_open_, 0}));
}

void gather::close() noexcept {
  for (input_edge& edge : edges_) {
    if (std::exchange(edge.head, std::nullopt)) edge.consumer->release();
    edge.consumer->close();
  }
}

}  // namespace troupe
