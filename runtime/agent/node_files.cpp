#include "runtime/agent/node_files.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "messages/limits.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe {
namespace {

tl::unexpected<error> bad_order(error_code code, std::string cause) {
  return fail(code, "file for this node", std::move(cause), "run the same version of Troupe everywhere");
}

tl::unexpected<error> another_file(std::string cause) {
  return fail(error_code::worker_mismatch, {}, std::move(cause),
              "put the driver's file on the node, or none: then the node gets it from the driver");
}

}  // namespace

struct node_files::fetch {
  file_identity file;
  cached_file to;
  sha256 hash = {};
  std::uint64_t bytes = 0;
};

node_files::node_files(node_files_options options)
    : options_(std::move(options)), cache_(options_.cache), fetched_(options_.cache) {}

node_files::~node_files() = default;

error node_files::named(const file_identity& file, const error& why) const {
  const std::string place = why.where.empty() ? std::string() : why.where + ": ";
  return {why.code, "node " + options_.node + ", " + file.path, place + why.cause, why.fix};
}

void node_files::answer(file_state state, std::uint64_t bytes) const {
  options_.answer({.number = number_, .state = static_cast<std::uint32_t>(state), .bytes = bytes});
}

read_watch node_files::watch() const {
  return [this](std::uint64_t bytes) {
    answer(file_state::looking, bytes);
    return !options_.is_ending();
  };
}

expected<void> node_files::check(const check_file& asked) {
  const file_identity& wanted = asked.file;
  fetch_.reset();  // its run was given up
  if (asked.number != number_ + 1) return bad_order(error_code::wire_malformed, "its number is not the next");
  if (wanted.path.empty() || wanted.path.find('\0') != std::string::npos || !is_hash(wanted.hash))
    return bad_order(error_code::wire_malformed, "a path or a hash that no file has");
  if (wanted.size > limits::node_file_bytes_max)
    return bad_order(error_code::wire_too_large, "a size of " + std::to_string(wanted.size) + " bytes");
  number_ = asked.number;
  auto is_here = look_at_path(wanted);
  if (is_here && !*is_here) is_here = look_in_cache(wanted);
  if (!is_here) return tl::make_unexpected(named(wanted, is_here.error()));
  if (!*is_here) return begin(asked);
  answer(file_state::here, wanted.size);
  return {};
}

/// As workers look for it: what they cannot see is not there.
expected<bool> node_files::look_at_path(const file_identity& wanted) {
  struct stat seen {};
  if (::stat(wanted.path.c_str(), &seen) != 0) return false;
  const unique_fd opened(::open(wanted.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!opened) return another_file("it cannot be read: " + errno_text());
  auto same = known_.has(opened.get(), wanted, watch());
  if (same && !*same) return another_file("it is another file than the driver's");
  if (!same && same.error().code == error_code::process_failed) return another_file(same.error().cause);
  return same;
}

expected<bool> node_files::look_in_cache(const file_identity& wanted) {
  auto has_it = cache_.has(wanted, known_, watch());
  if (has_it.value_or(false)) fetched_.add(wanted.path, wanted.hash);
  return has_it;
}

expected<void> node_files::begin(const check_file& asked) {
  auto to = cache_.add(asked.file.hash);
  if (!to) return tl::make_unexpected(named(asked.file, to.error()));
  fetch_.reset(new fetch{.file = asked.file, .to = std::move(*to)});
  if (asked.file.size == 0) return finish();
  answer(file_state::fetching, 0);
  return {};
}

expected<void> node_files::add(const file_part& part) {
  if (!fetch_ || part.number != number_)
    return bad_order(error_code::wire_malformed, "a part of a file that was not asked for");
  fetch& now = *fetch_;
  const std::uint64_t left = now.file.size - now.bytes;
  if (part.offset != now.bytes || part.content.empty() || part.content.size() > left)
    return bad_order(error_code::wire_malformed, "a part that is not the next one");
  if (part.content.size() > limits::blob_part_bytes)
    return bad_order(error_code::wire_too_large, "a part of " + std::to_string(part.content.size()) + " bytes");
  now.hash.add(part.content.data(), part.content.size());
  if (auto added = now.to.add(part.content); !added) return tl::make_unexpected(named(now.file, added.error()));
  now.bytes += part.content.size();
  if (now.bytes == now.file.size) return finish();
  answer(file_state::fetching, now.bytes);
  return {};
}

expected<void> node_files::finish() {
  const auto done = std::move(fetch_);
  if (done->hash.digest() != done->file.hash) {
    return tl::make_unexpected(named(done->file, {error_code::worker_mismatch,
                                                  {},
                                                  "what the driver sent is not what it had announced",
                                                  "leave the file alone while it is evaluated"}));
  }
  if (auto kept = done->to.keep(); !kept) return tl::make_unexpected(named(done->file, kept.error()));
  fetched_.add(done->file.path, done->file.hash);
  answer(file_state::here, done->file.size);
  return {};
}

}  // namespace troupe
