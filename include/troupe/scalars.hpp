#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

struct run_result;

/// A number that is followed over the steps of a training, under the name by which dashboards group it.
struct scalar {
  std::string name;  ///< "eval/accuracy"
  double value = 0;
};

/// The numbers of a result: of each metric of the first sink its first field as "eval/METRIC", and each further real
/// number as "eval/METRIC/FIELD", but for `sum`. Those of another sink begin with "eval/SINK/". Lists, and counts
/// behind the first field, are left out. In the order of the result.
[[nodiscard]] std::vector<scalar> scalars_of(const run_result& result);

/// The step that the name of a checkpoint, the last part of the path, tells: the number behind the last "step", as in
/// "global_step100" and "epoch=3-step=1200.ckpt"; else behind the last "iteration", "iter", "checkpoint", "ckpt" or
/// "epoch", in this order, as in "checkpoint-1000"; else the last number, as in "resnet20_12.pt". One of the characters
/// `-_=.` may stand before the number, and case does not matter. Nothing for a name without a number, and for a number
/// that a signed integer of 64 bits does not hold.
[[nodiscard]] std::optional<std::uint64_t> checkpoint_step(const std::filesystem::path& path);

/// Where scalars are written, for people and programs that watch a training:
///
///   FILE.csv    a row for each scalar: wall_time,step,name,value
///   FILE.jsonl  an object for each step: {"wall_time": ..., "step": 100, "eval/accuracy": 0.9904}
///   FOLDER      event files of TensorBoard, in float32, as PyTorch's SummaryWriter writes them
///
/// A scalar is written once: what the target has for a name and a step already, also from an earlier program, stays. A
/// CSV or JSONL file is replaced as a whole with each write, so that a reader never sees a half-written one. Event
/// files are appended to; a program that is killed while it writes may leave a part of a record at the end, which
/// TensorBoard passes over, and the next program begins a file of its own.
///
/// One program at a time writes to a target. One thread at a time calls write().
class scalar_log {
 public:
  /// Reads which scalars the target has. E0103: the name ends like that of a file of another kind, "x.txt", and is no
  /// folder yet; a slash behind it says that it is one. E0611: the target is something else, larger than 16 MiB (or
  /// holds more than 500,000 scalars), or cannot be written.
  [[nodiscard]] static expected<std::unique_ptr<scalar_log>> open(const std::filesystem::path& target);
  scalar_log(const scalar_log&) = delete;
  scalar_log& operator=(const scalar_log&) = delete;
  virtual ~scalar_log() = default;

  /// Writes those that are new, synchronized with the disk, and returns how many they are. `step` is at most
  /// 2^63 - 1; at most 10,000 scalars, with names of 1 to 1000 bytes that are neither "step" nor "wall_time" (E0103).
  /// After E0611 what was there before is still there.
  [[nodiscard]] virtual expected<std::size_t> write(std::uint64_t step, std::span<const scalar> scalars) = 0;

 protected:
  scalar_log() = default;
};

}  // namespace troupe
