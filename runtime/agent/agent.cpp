#include "runtime/agent/agent.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

#include "messages/codec/dispatch.hpp"
#include "messages/error_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/agent/agent_workers.hpp"
#include "runtime/agent/blob_store.hpp"
#include "runtime/agent/node_faults.hpp"
#include "runtime/agent/node_files.hpp"
#include "runtime/inject/assigned_control_faults.hpp"
#include "runtime/local_host/local_host.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_hash.hpp"
#include "runtime/process/fork_server.hpp"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The same as in its driver, in path and content.
expected<void> check_program(const agent_setup& asked, const std::string& node) {
  const auto refuse = [&](const std::string& file, std::string cause) {
    return fail(error_code::worker_mismatch, "node " + node + ", " + file, std::move(cause),
                "put the same program, files and directory on every node, under the same path");
  };
  if (::chdir(asked.directory.c_str()) != 0) return refuse(asked.directory, "chdir: " + errno_text());
  const auto hash = sha256_of_file(asked.program, error_code::worker_mismatch);
  if (!hash) return refuse(asked.program, hash.error().cause);
  if (*hash != asked.program_hash) return refuse(asked.program, "it is another program than the driver's");
  return {};
}

expected<void> check_numbers(const agent_setup& asked) {
  const bool fits = asked.slots >= 1 && asked.slots <= limits::node_slots_max && asked.slots <= asked.world_size &&
                    asked.first_rank <= asked.world_size - asked.slots && asked.bind_cores <= 1;
  if (fits) return {};
  return fail(error_code::wire_malformed, "agent_setup", "slots that no launch has",
              "run the same version of Troupe everywhere");
}

/// What its workers are.
spawn_request program_of(const agent_setup& asked) {
  spawn_request made;
  made.program = asked.program;
  made.arguments = asked.arguments;
  for (const named_value& each : asked.environment) {
    if (each.name != files_variable) made.environment.emplace_back(each.name, each.value);
  }
  return made;
}

milliseconds time_of(std::uint64_t said_ms) {
  constexpr std::uint64_t longest = limits::agent_wait_max.count();
  return milliseconds{static_cast<milliseconds::rep>(std::min(said_ms, longest))};
}

}  // namespace

struct agent::core {
  explicit core(agent_options given) : options(std::move(given)) {}

  expected<void> serve();
  void end(std::optional<error> why);
  void lose_driver(const error& why);
  void take(codec::bytes message);

  std::optional<codec::bytes> next_order();
  void obey(const codec::bytes& message);
  expected<void> handle(const agent_setup& asked);
  expected<void> handle(const start_worker& asked);
  expected<void> handle(const worker_message& asked);
  expected<void> handle(const blob_part& part);
  expected<void> handle(const hand_over_blobs& asked);
  expected<void> handle(const read_blob& asked);
  expected<void> handle(const drop_blob& asked);
  expected<void> handle(const kill_worker& asked);
  expected<void> handle(const signal_worker& asked);
  expected<void> handle(const apply_fault& asked);
  expected<void> handle(const stop_workers& asked);
  expected<void> handle(const ask_telemetry& asked);
  expected<void> handle(const check_file& asked);
  expected<void> handle(const file_part& part);
  expected<void> refuse_unless(const expected<void>& done);
  [[nodiscard]] node_files_options file_options(const agent_setup& asked);
  [[nodiscard]] bool is_ending();
  expected<void> open_host(const start_worker& first);
  [[nodiscard]] expected<blob> find(const blob_reference& what) const;
  /// True if no worker is left.
  bool close_host(milliseconds grace);

  const agent_options options;
  const std::shared_ptr<agent_workers> workers = std::make_shared<agent_workers>(options.driver);

  // Any thread.
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<codec::bytes> orders;
  std::size_t queued_bytes = 0;
  bool has_ended = false;
  /// Nothing after stop().
  std::optional<error> cause;
  /// The cause is the end of the link.
  bool is_driver_gone = false;

  // The thread of serve().
  std::optional<agent_setup> setup;
  bool has_refused_file = false;
  std::optional<node_files> files;
  blob_store blobs;
  node_faults faults_of_node{options.driver};
  milliseconds silence{0};
  std::shared_ptr<fork_server> from;
  std::shared_ptr<local_host> host;
  std::shared_ptr<local_ranks> ranks;
};

// --- the link's thread -----------------------------------------------------------------------------------------------

void agent::core::end(std::optional<error> why) {
  const std::lock_guard lock{mutex};
  if (!std::exchange(has_ended, true)) cause = std::move(why);
  orders.clear();
  changed.notify_all();
}

void agent::core::lose_driver(const error& why) {
  {
    const std::lock_guard lock{mutex};
    if (!has_ended) is_driver_gone = true;
  }
  end(why);
  workers->kill_all();  // the thread of serve() may be waiting for those that have a grace
}

void agent::core::take(codec::bytes message) {
  const std::lock_guard lock{mutex};
  if (has_ended) return;
  queued_bytes += message.size();
  orders.push_back(std::move(message));
  if (queued_bytes > limits::link_bytes_queued_max && !std::exchange(has_ended, true))
    cause = error{error_code::queue_full, "agent", "its driver says more than it can do", "report this"};
  changed.notify_all();
}

// --- the thread of serve() -------------------------------------------------------------------------------------------

expected<void> agent::core::serve() {
  std::unique_lock lock{mutex};
  auto telemetry_at = steady_clock::now();
  while (!has_ended) {
    changed.wait_until(lock, telemetry_at, [&] { return has_ended || !orders.empty(); });
    std::optional<codec::bytes> order = next_order();
    lock.unlock();
    if (order) obey(*order);
    if (steady_clock::now() >= telemetry_at) {
      workers->tell_telemetry();
      telemetry_at = steady_clock::now() + liveness{silence}.heartbeat();
    }
    lock.lock();
  }
  const bool is_over = is_driver_gone && setup && host == nullptr;
  lock.unlock();
  static_cast<void>(close_host(milliseconds{0}));
  from.reset();
  if (cause && !is_over) return tl::make_unexpected(*cause);
  return {};
}

/// Under the lock.
std::optional<codec::bytes> agent::core::next_order() {
  if (orders.empty()) return std::nullopt;
  codec::bytes first = std::move(orders.front());
  orders.pop_front();
  queued_bytes -= first.size();
  return first;
}

void agent::core::obey(const codec::bytes& message) {
  expected<void> done;
  const auto taken =
      dispatch<worker_message, blob_part, hand_over_blobs, drop_blob, read_blob, start_worker, kill_worker,
               ask_telemetry, stop_workers, file_part, check_file, agent_setup, signal_worker, apply_fault>(
          message, [&](const auto& what) { done = handle(what); });
  if (!taken) return end(taken.error());
  if (!done) end(done.error());
}

expected<void> agent::core::handle(const agent_setup& asked) {
  if (setup) return fail(error_code::wire_malformed, "agent_setup", "it comes a second time");
  auto fine = check_numbers(asked);
  if (fine) fine = check_program(asked, options.home.node);
  if (!fine) {
    workers->tell(agent_refusal{fine.error()});
    return {};  // the driver reads it, and closes the link
  }
  setup = asked;
  files.emplace(file_options(asked));
  if (asked.bind_cores == 0) from = fork_server::start(program_of(asked));
  workers->tell(agent_ready{static_cast<std::uint32_t>(::getpid())});
  return {};
}

expected<void> agent::core::handle(const start_worker& asked) {
  if (!setup) return fail(error_code::wire_malformed, "start_worker", "nothing is known of its program");
  if (workers->find(asked.rank)) return fail(error_code::wire_malformed, "start_worker", "its rank is another's");
  auto open = open_host(asked);
  auto made = open.and_then([&] { return host->start_as(asked.rank, workers); });
  if (made) {
    workers->add(*made);
  } else {
    workers->refuse(asked.rank, made.error());
  }
  return {};
}

expected<void> agent::core::open_host(const start_worker& first) {
  if (host) return {};
  silence = time_of(first.silence_ms);
  ranks = std::make_shared<local_ranks>(
      node_ranks{.slots = setup->slots, .first_rank = setup->first_rank, .world_size = setup->world_size});
  const spawn_request program = program_of(*setup);
  local_host_options what{
      .times = {silence},
      .log =
          [told = workers](const log_record& record) {
            told->tell(agent_log{record.rank, static_cast<std::uint32_t>(record.level), record.text});
          },
      .logs_lives = false,
      .program = program.program,
      .arguments = program.arguments,
      .environment = program.environment,
      .home = options.home,
      .network = options.network,
      .ranks = ranks,
      .bind_cores = setup->bind_cores == 1,
      .from = from};
  if (first.has_control_faults != 0) {
    auto faults = TROUPE_TRY(assigned_control_faults::start());
    what.around_link = [all = std::move(faults)](const std::shared_ptr<message_link>& link, const auto& page) {
      return all->wrap(link, page);
    };
  }
  if (!files->fetched().empty()) what.environment.emplace_back(files_variable, files->fetched().text());
  return local_host::create(std::move(what)).map([&](std::shared_ptr<local_host>&& made) { host = std::move(made); });
}

expected<void> agent::core::handle(const worker_message& asked) {
  if (const auto worker = workers->find(asked.rank)) worker->send(asked.message);
  return {};
}

expected<void> agent::core::handle(const blob_part& part) {
  return blobs.add(part).map([&] {
    if (!part.content.empty()) workers->tell(blob_part_taken{part.content.size()});
  });
}

expected<void> agent::core::handle(const hand_over_blobs& asked) {
  const auto worker = workers->find(asked.rank);
  if (!worker) return {};
  std::vector<blob> found;
  for (const blob_reference& each : asked.blobs) {
    auto one = TROUPE_TRY(find(each));
    found.push_back(std::move(one));
  }
  if (auto given = worker->hand_over(asked.name, found); !given) worker->kill(brief(given.error()));
  return {};
}

/// A blob may have been dropped with all others.
expected<void> agent::core::handle(const read_blob& asked) {
  if (asked.bytes > limits::blob_part_bytes)
    return fail(error_code::wire_too_large, "read_blob", "a part of " + std::to_string(asked.bytes) + " bytes",
                "run the same version of Troupe everywhere");
  blob_read answer{.question = asked.question, .content = {}};
  if (const auto found = blobs.find(asked.blob)) {
    answer.content.resize(asked.bytes);
    answer.content.resize(TROUPE_TRY(found->read(asked.offset, answer.content)));
  }
  workers->tell(answer);
  return {};
}

/// The page of a worker that has ended since is one that is not used.
expected<blob> agent::core::find(const blob_reference& what) const {
  if (!what.page_of) return blobs.find(what.blob);
  const auto worker = workers->find(*what.page_of);
  if (worker) return *worker->page();
  return shared_page::create().map([](const shared_page& made) { return made.memory(); });
}

expected<void> agent::core::handle(const drop_blob& asked) {
  blobs.drop(asked.blob);
  return {};
}

expected<void> agent::core::handle(const kill_worker& asked) {
  if (const auto worker = workers->find(asked.rank)) worker->kill();
  return {};
}

expected<void> agent::core::handle(const signal_worker& asked) {
  const int number = asked.number == SIGKILL || asked.number == SIGSTOP ? static_cast<int>(asked.number) : SIGCONT;
  if (const auto worker = workers->find(asked.rank)) static_cast<void>(worker->signal(number));
  return {};
}

expected<void> agent::core::handle(const apply_fault& asked) {
  return faults_of_node.apply(asked, *workers);
}

expected<void> agent::core::handle(const ask_telemetry& asked) {
  workers->tell_telemetry();
  workers->tell(telemetry_told{asked.question});
  return {};
}

node_files_options agent::core::file_options(const agent_setup& asked) {
  return {.node = options.home.node,
          .cache = cache_directory(asked.environment),
          .answer = [this](const file_answer& what) { workers->tell(what); },
          .is_ending = [this] { return is_ending(); }};
}

bool agent::core::is_ending() {
  const std::lock_guard lock{mutex};
  return has_ended;
}

expected<void> agent::core::handle(const check_file& asked) {
  if (!files) return fail(error_code::wire_malformed, "check_file", "nothing is known of its program");
  return has_refused_file ? expected<void>{} : refuse_unless(files->check(asked));
}

expected<void> agent::core::handle(const file_part& part) {
  if (!files) return fail(error_code::wire_malformed, "file_part", "no file was asked for");
  return has_refused_file ? expected<void>{} : refuse_unless(files->add(part));
}

/// The driver reads it, and closes the link; more of the file may be on its way.
expected<void> agent::core::refuse_unless(const expected<void>& done) {
  if (done || done.error().code == error_code::wire_malformed || done.error().code == error_code::wire_too_large)
    return done;
  has_refused_file = true;
  workers->tell(agent_refusal{done.error()});
  return {};
}

expected<void> agent::core::handle(const stop_workers& asked) {
  const bool all_ended = close_host(time_of(asked.grace_ms));
  workers->tell(workers_stopped{all_ended ? 1u : 0u});
  return {};
}

bool agent::core::close_host(milliseconds grace) {
  if (!host) return true;
  host->close();
  const bool all_ended = host->stop(steady_clock::now() + grace + limits::worker_reap_time, grace);
  if (all_ended) workers->wait_for_ends(steady_clock::now() + limits::worker_reap_time_at_exit);
  host.reset();
  workers->forget_all();
  blobs.clear();
  return all_ended;
}

// ---------------------------------------------------------------------------------------------------------------------

agent::agent(agent_options options) : core_(std::make_shared<core>(std::move(options))) {}

agent::~agent() = default;

expected<void> agent::serve() {
  core_->options.driver->start({.on_message = [core = core_](codec::bytes message) { core->take(std::move(message)); },
                                .on_lost = [core = core_](const error& why) { core->lose_driver(why); }});
  return core_->serve();
}

void agent::ask_for_end(int signal) noexcept {
  core_->workers->tell(end_asked{static_cast<std::uint32_t>(signal)});
}

void agent::stop() noexcept {
  core_->end(std::nullopt);
}

}  // namespace troupe
