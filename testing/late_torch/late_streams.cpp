#include "testing/late_torch/late_streams.hpp"

#include <stdexcept>
#include <utility>

namespace troupe::late {

std::int64_t late_streams::make() {
  const std::scoped_lock lock(guard_);
  return next_++;
}

void late_streams::give(std::int64_t stream, work what) {
  const std::scoped_lock lock(guard_);
  stream_state& to = streams_[stream];
  if (to.is_recording) return to.recorded.push_back(std::move(what));
  to.waiting.push_back(std::move(what));
  ++to.given;
}

void late_streams::wait_for(std::int64_t stream, stream_point point) {
  give(stream, [this, point] { do_until(point); });
}

void late_streams::begin_recording(std::int64_t stream) {
  const std::scoped_lock lock(guard_);
  streams_[stream].is_recording = true;
  streams_[stream].is_broken_off = false;
}

std::optional<std::vector<late_streams::work>> late_streams::end_recording(std::int64_t stream) {
  const std::scoped_lock lock(guard_);
  stream_state& of = streams_[stream];
  of.is_recording = false;
  auto made = std::exchange(of.recorded, {});
  return of.is_broken_off ? std::nullopt : std::optional(std::move(made));
}

void late_streams::refuse_while_recording(std::int64_t stream) {
  stream_state& of = streams_[stream];
  if (!of.is_recording) return;
  of.is_broken_off = true;
  throw std::runtime_error("operation not permitted while the stream is recorded");
}

stream_point late_streams::now(std::int64_t stream) {
  const std::scoped_lock lock(guard_);
  refuse_while_recording(stream);
  return {stream, streams_[stream].given};
}

void late_streams::fail() {
  const std::scoped_lock lock(guard_);
  has_failed_ = true;
}

bool late_streams::has_passed(stream_point point) {
  const std::scoped_lock lock(guard_);
  if (has_failed_) throw std::runtime_error("the late device has failed");
  stream_state& of = streams_[point.stream];
  if (of.done >= point.position) return true;
  do_one(of);
  return false;
}

void late_streams::synchronize(stream_point point) {
  const std::scoped_lock lock(guard_);
  ++synchronizations_;
  do_until(point);
}

std::uint64_t late_streams::synchronizations() {
  const std::scoped_lock lock(guard_);
  return synchronizations_;
}

void late_streams::do_one(stream_state& of) {
  const work next = std::move(of.waiting.front());
  of.waiting.pop_front();
  next();
  ++of.done;
}

void late_streams::do_until(stream_point point) {
  stream_state& of = streams_[point.stream];
  while (of.done < point.position) do_one(of);
}

late_streams& streams() {
  static late_streams one;
  return one;
}

}  // namespace troupe::late
