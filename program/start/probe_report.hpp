#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/payload.hpp"
#include "messages/training.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Where a model was cut.
struct cut_report {
  /// The name of the pipeline in a topology; empty for a model alone.
  std::string name;
  std::vector<std::uint64_t> boundaries;
  /// See cut_places.
  std::string cut_by = {};
  std::string bits_depend_on = {};
  /// See rewrite_choice.
  bool runs_plain = false;
  /// cut_places::inputs.
  std::vector<std::string> inputs = {};
  /// Where the run trains: parts that share weights, ascending.
  std::vector<tied_stages> ties = {};
  /// "0 Conv2d" for each layer, by part.
  std::vector<std::vector<std::string>> layers;
  /// What each part is warmed up with; null: with nothing.
  std::vector<payload_ptr> warm_up;
};

/// What the process that tried a run out found: all that its driver needs to know of the model.
struct probe_report {
  /// The fingerprint of the run as the process built it (worker_assignment::fingerprint).
  std::uint64_t fingerprint = 0;
  std::vector<cut_report> cuts;
  /// The most that passes from one stage to the next for a micro-batch like the first; 0: not known.
  std::uint64_t between_bytes = 0;
  /// By number, ascending: device_channels().
  std::vector<std::uint64_t> device_channels = {};
  /// For the log: models that run as they stand.
  std::vector<std::string> notes = {};
  /// For log and result: why results are not repeatable.
  std::vector<std::string> warnings = {};
};

/// Whether a model can have been cut like this into so many parts; E0702 otherwise.
[[nodiscard]] expected<void> check_cut(const cut_report& cut, std::uint32_t parts);

/// The file in memory through which a process reports. The writer may die at any point; what it has written says how
/// far it came. Its owner reads when the writer has ended, copies before it looks, and verifies nothing.
class probe_file {
 public:
  /// E0614.
  [[nodiscard]] static expected<probe_file> make();
  /// The report goes into an inherited descriptor.
  explicit probe_file(unique_fd file) : file_(std::move(file)) {}

  [[nodiscard]] expected<unique_fd> duplicate() const;

  // The writer.
  /// From here on an end without a report is the model's doing. `place`: the node or file tried out next.
  void note(const std::string& place) const;
  /// The last of all. E0614 if there is no room.
  [[nodiscard]] expected<void> write(const expected<probe_report>& report) const;

  // The reader.
  /// The last note; nothing if there was none.
  [[nodiscard]] std::optional<std::string> place() const;
  /// Nothing if the writer did not come so far. Its error, or E0702 for what no writer writes.
  [[nodiscard]] std::optional<expected<probe_report>> read() const;

 private:
  unique_fd file_;
};

}  // namespace troupe
