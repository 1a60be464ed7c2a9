#include "testing/nccl/stand_in.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "testing/nccl/late_device.hpp"
#include "testing/nccl/meeting.hpp"

namespace troupe {

/// What a handle points at here.
struct nccl::communicator_handle {
  std::shared_ptr<testing::meeting> place;
  std::atomic<bool> is_finalizing{false};
};

}  // namespace troupe

namespace troupe::testing {
namespace {

struct queued_part {
  bool is_send;
  std::byte* bytes;
  std::size_t count;
  nccl::element type;
  std::shared_ptr<meeting> place;
  nccl::stream on;
};

/// Of the calling thread, as NCCL has it.
struct open_group {
  int depth = 0;
  std::vector<queued_part> parts;
};
open_group& group_here() {
  thread_local open_group group;
  return group;
}

void perform(const queued_part& part) {
  const stand_in_faults& faults = faults_of_stand_in();
  meeting& place = *part.place;
  const std::uint64_t number = ++place.operations;
  if (number == faults.hang_operation.load()) return place.hang();
  if (number == faults.fail_operation.load()) {
    place.fail(nccl::result::remote_error);
    return place.hang();
  }
  const std::span<std::byte> bytes(part.bytes, part.count * nccl::bytes_of(part.type));
  if (part.is_send) {
    place.send(bytes, part.count, part.type);
  } else {
    place.receive(bytes, part.count, part.type);
  }
}

nccl::result stand_in_version(int* version) {
  *version = 22809;
  return nccl::result::success;
}

nccl::result stand_in_unique_id(nccl::unique_id* id) {
  std::random_device random;
  std::snprintf(id->bytes.data(), id->bytes.size(), "/troupe-nccl-%08x%08x%08x", random(), random(), random());
  return nccl::result::success;
}

nccl::result stand_in_init(nccl::communicator* made, int ranks, nccl::unique_id id, int rank, nccl::config* how) {
  if (ranks != 2 || rank < 0 || rank > 1 || how == nullptr || how->blocking != 0) return nccl::result::invalid_argument;
  if (faults_of_stand_in().refuse_join.load()) return nccl::result::unhandled_cuda_error;
  id.bytes.back() = '\0';
  if (std::strncmp(id.bytes.data(), "/troupe-nccl-", 13) != 0) return nccl::result::invalid_argument;
  auto place = meeting::open(id, rank);
  if (place == nullptr) return nccl::result::system_error;
  *made = new nccl::communicator_handle{std::move(place)};
  ++faults_of_stand_in().joined;
  ++faults_of_stand_in().alive;
  return nccl::result::in_progress;
}

nccl::result stand_in_async_error(nccl::communicator of, nccl::result* found) {
  if (faults_of_stand_in().hang_join.load() || !of->place->is_complete()) {
    *found = nccl::result::in_progress;
  } else {
    // What takes time is seen to do so once.
    *found = of->is_finalizing.exchange(false) ? nccl::result::in_progress : of->place->error();
  }
  return nccl::result::success;
}

nccl::result stand_in_finalize(nccl::communicator of) {
  ++faults_of_stand_in().finalized;
  of->is_finalizing = true;
  return nccl::result::in_progress;
}

nccl::result stand_in_destroy(nccl::communicator of) {
  of->place->cut();
  delete of;
  --faults_of_stand_in().alive;
  return nccl::result::success;
}

nccl::result stand_in_revoke(nccl::communicator of, int flags) {
  if (flags != 0) return nccl::result::invalid_argument;
  ++faults_of_stand_in().revoked;
  of->place->cut();
  return nccl::result::success;
}

nccl::result stand_in_abort(nccl::communicator of) {
  while (faults_of_stand_in().hang_abort.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ++faults_of_stand_in().aborted;
  return stand_in_destroy(of);
}

nccl::result stand_in_group_start() {
  ++group_here().depth;
  return nccl::result::success;
}

nccl::result stand_in_group_end() {
  open_group& group = group_here();
  if (group.depth == 0) return nccl::result::invalid_usage;
  if (--group.depth > 0) return nccl::result::success;
  for (queued_part& each : group.parts) {
    late_work& work = late_work::of(each.on);
    work.enqueue([part = std::move(each)] { perform(part); });
  }
  group.parts.clear();
  return nccl::result::success;
}

nccl::result enqueue(bool is_send, std::byte* bytes, std::size_t count, nccl::element type, int peer,
                     nccl::communicator over, nccl::stream on) {
  if (bytes == nullptr || peer < 0 || peer > 1 || nccl::bytes_of(type) == 0 || on == nullptr)
    return nccl::result::invalid_argument;
  if (!over->place->is_complete()) return nccl::result::invalid_usage;
  static_cast<void>(stand_in_group_start());
  if (count > 0) group_here().parts.push_back({is_send, bytes, count, type, over->place, on});
  return stand_in_group_end();
}

nccl::result stand_in_send(const void* from, std::size_t count, nccl::element given, int peer, nccl::communicator over,
                           nccl::stream on) {
  // It is read alone.
  return enqueue(true, static_cast<std::byte*>(const_cast<void*>(from)), count, given, peer, over, on);
}

nccl::result stand_in_receive(void* into, std::size_t count, nccl::element given, int peer, nccl::communicator over,
                              nccl::stream on) {
  return enqueue(false, static_cast<std::byte*>(into), count, given, peer, over, on);
}

const char* stand_in_text(nccl::result what) {
  switch (what) {
    case nccl::result::unhandled_cuda_error:
      return "unhandled cuda error";
    case nccl::result::invalid_usage:
      return "invalid usage";
    case nccl::result::remote_error:
      return "remote process exited or there was a network error";
    default:
      return "an error of the stand-in";
  }
}

const char* stand_in_last_error(nccl::communicator) {
  return "";
}

}  // namespace

stand_in_faults& faults_of_stand_in() {
  static stand_in_faults faults;
  return faults;
}

nccl::functions stand_in_functions() {
  return {.get_version = stand_in_version,
          .get_unique_id = stand_in_unique_id,
          .comm_init_rank_config = stand_in_init,
          .comm_finalize = stand_in_finalize,
          .comm_destroy = stand_in_destroy,
          .comm_abort = stand_in_abort,
          .comm_revoke = stand_in_revoke,
          .comm_get_async_error = stand_in_async_error,
          .send = stand_in_send,
          .recv = stand_in_receive,
          .group_start = stand_in_group_start,
          .group_end = stand_in_group_end,
          .get_error_string = stand_in_text,
          .get_last_error = stand_in_last_error};
}

}  // namespace troupe::testing
