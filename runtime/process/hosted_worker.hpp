#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "messages/codec/codec.hpp"
#include "messages/stage_telemetry.hpp"
#include "runtime/os/blob.hpp"
#include "runtime/process/exit_report.hpp"
#include <troupe/log_record.hpp>

namespace troupe {

/// Where workers live among the nodes of a launch. All empty where a run has one host alone.
struct host_place {
  /// The name that certificates have.
  std::string node;
  /// Numeric, where processes of other nodes find it.
  std::string address;
};

/// One worker as its driver has it, wherever it lives (worker_host): its name in logs, the ways to it, and the way to
/// end it. It can be asked after its end, too. Threads: any; nothing but hand_over() and
/// read_back() waits.
class hosted_worker {
 public:
  /// `rank`: its number among the workers of the run. `log` gets the log lines about the worker, on any thread; it may
  /// be null.
  hosted_worker(std::string name, std::uint32_t rank, log_function log, host_place home = {});
  hosted_worker(const hosted_worker&) = delete;
  hosted_worker& operator=(const hosted_worker&) = delete;
  virtual ~hosted_worker() = default;

  // --- who it is ---

  /// "worker 3"; of its stage, once it has one.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] bool has_stage() const;
  [[nodiscard]] const host_place& home() const noexcept { return home_; }
  /// It becomes this stage.
  void rename(std::string stage);
  /// Where it lives, or lived: "process 4711".
  [[nodiscard]] virtual std::string place() const = 0;
  /// The number of its process, where it lives; nothing before that is known.
  [[nodiscard]] virtual std::optional<std::uint32_t> pid() const = 0;

  // --- the ways to it ---

  /// A message of messages/codec, whose bytes say its kind. What one thread sends arrives in order, each at most once;
  /// once its link is lost, it arrives nowhere.
  virtual void send(codec::bytes message) = 0;
  /// It finds them under `name`, once, before any message that was sent later. E0614, also if it takes nothing for
  /// limits::channel_timeout.
  [[nodiscard]] virtual expected<void> hand_over(const std::string& name, std::span<const blob> blobs) = 0;
  /// What such a blob holds now, where the worker lives or lived, also after its end: so many bytes as the memory has,
  /// at most as `into` takes. E0618 where its node is lost, E0614.
  [[nodiscard]] virtual expected<std::size_t> read_back(const blob& what, std::uint64_t offset,
                                                        std::span<std::byte> into) {
    return what.read(offset, into);
  }
  /// Telemetry of its stage, as far as it is known here; all zero before it has one.
  [[nodiscard]] virtual stage_telemetry telemetry() const = 0;
  /// The page of its engine (runtime/telemetry/shared_page.hpp), for edges in shared memory; nothing where it shares no
  /// memory with this process.
  [[nodiscard]] virtual std::optional<blob> page() const = 0;

  // --- its end ---

  /// Ends it at once; nothing happens if it has ended. `why`, where there is one, is what killed_for() gives; the first
  /// one stays.
  void kill(std::string why = {});
  /// Sends its process a signal, for faults alone. False if it has no process now, or none of this host.
  [[nodiscard]] virtual bool signal([[maybe_unused]] int number) { return false; }
  [[nodiscard]] std::string killed_for() const;
  /// How it ended, in words; a kill by its owner with the reason, as it may have died of something else just before.
  [[nodiscard]] std::string end_of(const exit_report& report) const;
  /// A warning in the log: "worker 3 (process 4711)", `when` and how it ended. Only the first time.
  void log_end(const exit_report& report, const std::string& when);

 protected:
  /// "worker 3 (process 4711)" and the text, in the log.
  void log(log_level level, const std::string& text) const;
  /// The text alone, with its rank and, once it has one, its stage.
  void say(log_level level, std::string text) const;
  /// See kill(). May come before the worker has started, and then ends it when it has.
  virtual void end_now() = 0;

 private:
  const std::uint32_t rank_;
  const log_function log_;
  const host_place home_;
  mutable std::mutex mutex_;
  std::string name_;
  std::string stage_;
  std::string killed_for_;
  bool is_end_logged_ = false;
};

using hosted_worker_ptr = std::shared_ptr<hosted_worker>;

}  // namespace troupe
