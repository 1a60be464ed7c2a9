#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/fault_plan.hpp>
#include <troupe/ids.hpp>

/// Tests of a topology without models, processes and clocks: the control plane that a run in worker processes has, in
/// one thread and virtual time, under faults that follow from a seed. Target troupe::simulation; docs/faults.md.
namespace troupe::simulation {

/// The forward of a stage: changes the samples of a micro-batch. A sample is a number that stands for its tensors; what
/// several inputs bring of a sample is hashed into one. Equal samples must become equal ones, whatever came before, as
/// stage_function asks it. An exception is a failed forward.
using forward = std::function<void(micro_batch_id id, std::span<std::uint64_t> samples)>;
/// Called for each worker that becomes the stage: what a forward keeps is lost with its worker. Called for the plain
/// loop that a run is compared with, too.
using make_forward = std::function<forward()>;

struct node_options {
  std::uint32_t replicas = 1;
  /// As stage_options of topology.hpp.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  bool ordered = false;
  /// "node", or "node.case" for a case of a route. Empty: the node that was added before, or the source.
  std::vector<std::string> from = {};
};

/// A graph behind one source. Nodes are added behind those that they take from. Adding never fails: simulate() has the
/// errors.
class network {
 public:
  network();
  network(const network& other);
  network& operator=(const network& other);
  ~network();

  /// Without code it hashes the samples.
  network& stage(std::string name, make_forward code = nullptr, node_options options = {});
  /// Reunites the parts of a route.
  network& join(std::string name, std::vector<std::string> from, node_options options = {});
  /// `choose`: the position of a sample's case. Null: by the sample's number.
  network& route(std::string name, std::vector<std::string> cases,
                 std::function<std::size_t(std::uint64_t sample)> choose = nullptr, node_options options = {});
  /// Scores an output. Without any the last node's is scored.
  network& sink(std::string from);

  struct parts;
  [[nodiscard]] const parts& described() const noexcept { return *parts_; }

 private:
  std::unique_ptr<parts> parts_;
};

struct settings {
  static constexpr std::size_t calls_max = 16;
  static constexpr std::uint64_t micro_batches_max = 10'000;
  static constexpr std::int64_t forward_us_max = 1'000'000;

  /// Of each call, 1 to calls_max of them, with micro_batches_max each. A micro-batch has one to three samples.
  std::vector<std::uint64_t> micro_batches = {20};
  /// Virtual time of a forward, on average, 1 to forward_us_max.
  std::int64_t forward_us = 200;
  /// The states of the only call go to a journal: the driver may die, and another one resumes.
  bool journal = false;
  /// Drawn from the seed. Without them and without a plan the run is undisturbed.
  bool faults = true;
  /// In place of drawn ones, if there are any; seeds then draw what runs next. Times count from the start. These have a
  /// counterpart in virtual time:
  ///   at=TIME   kill, stop (with `for` or not) of a stage; kill of the loader, the aggregator, and with a journal the
  ///             driver; disk_full of the journal; drop, delay, duplicate, reorder (of one), corrupt, close of an edge;
  ///             close of control messages
  ///   at=mbK    kill, throw of a stage, in the first call
  ///   p=P       drop, duplicate, reorder of control messages of all replicas; in hundredths, and drawn from the run's
  ///             seed in place of the fault's
  fault_plan plan = {};
};

/// How a run ended.
struct outcome {
  std::uint64_t seed = 0;
  /// Of all that was seen: equal for equal arguments in one build.
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  /// Virtual.
  double seconds = 0;
  /// "same bits", or the codes with which calls ended.
  std::string ended;
  /// The first difference from a plain loop over the nodes, the promise that was broken, or "stage-failed" with the
  /// stage and micro-batch whose code threw, and whether it does in a plain loop, too; empty: all is well.
  std::string difference;
  /// What happened to it, a line each.
  std::vector<std::string> faults = {};
};

/// Errors: E0501 to E0506 for a network that is none, as a topology has them; E0103 for settings out of range; E0109
/// for a plan that names something that is not there, or that virtual time does not have.
[[nodiscard]] expected<outcome> simulate(const network& what, std::uint64_t seed, const settings& how = {});

struct finding {
  /// As its seed draws it.
  outcome first;
  /// The fewest of its faults with which it still fails.
  outcome least;
};
/// The first of these seeds that fails, shrunk; nothing: none does. Errors: simulate(); E0103 where the last seed is
/// before the first.
[[nodiscard]] expected<std::optional<finding>> find_failure(const network& what, std::uint64_t first_seed,
                                                            std::uint64_t last_seed, const settings& how = {});
/// Some lines for a test's message: seed, faults, difference.
[[nodiscard]] std::string explain(const finding& what);

}  // namespace troupe::simulation
