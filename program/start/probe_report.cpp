#include "program/start/probe_report.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "program/start/probe_text.hpp"
#include "runtime/edge/tcp/buffer_pool.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

/// The file: this head; from text_begin on the text (probe_text.hpp); from the next multiple of the alignment on the
/// tensors, each at such a multiple, as tensor_codec has them.
struct head {
  std::uint64_t text_bytes = 0;  ///< written last of all; 0: there is no report
  std::uint64_t place_bytes = 0;
};
constexpr std::uint64_t place_begin = sizeof(head);
constexpr std::uint64_t text_begin = 256;
static_assert(place_begin + limits::probe_place_bytes_max <= text_begin);

std::uint64_t aligned(std::uint64_t at) {
  return (at + limits::payload_alignment - 1) / limits::payload_alignment * limits::payload_alignment;
}

bool write_at(int fd, std::uint64_t at, const void* bytes, std::uint64_t size) {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::pwrite(fd, from, size, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    at += static_cast<std::uint64_t>(written);
    size -= static_cast<std::uint64_t>(written);
  }
  return true;
}

bool read_at(int fd, std::uint64_t at, void* bytes, std::uint64_t size) {
  auto* into = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::pread(fd, into, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    at += static_cast<std::uint64_t>(got);
    size -= static_cast<std::uint64_t>(got);
  }
  return true;
}

tl::unexpected<error> malformed(std::string cause) {
  return fail(error_code::wire_malformed, "the report of the try-out", std::move(cause),
              "look for code of the model or of a stage that writes where it must not");
}

/// Where each tensor goes; without them if they are too many bytes, or have no bytes: a stage that is not warmed up is
/// slower at first.
std::vector<tensor_place> lay_out(probe_report& report) {
  std::vector<tensor_place> places;
  std::uint64_t end = 0;
  for (cut_report& cut : report.cuts) {
    for (payload_ptr& input : cut.warm_up) {
      std::uint64_t bytes = 0;
      try {
        if (input != nullptr) bytes = tensor_codec().size_of(*input);
      } catch (const std::exception&) {
        bytes = 0;
      }
      if (bytes > limits::probe_report_bytes_max / 2 - std::min(end, limits::probe_report_bytes_max / 2)) bytes = 0;
      if (bytes == 0) input = nullptr;
      places.push_back({end, bytes});
      end = aligned(end + bytes);
    }
  }
  return places;
}

bool write_tensors(int fd, std::uint64_t begin, const probe_report& report, const std::vector<tensor_place>& places) {
  auto place = places.begin();
  aligned_buffer buffer;
  for (const cut_report& cut : report.cuts) {
    for (const payload_ptr& input : cut.warm_up) {
      const auto [at, bytes] = *place++;
      if (input == nullptr) continue;
      if (!buffer.reserve(bytes)) return false;
      const std::span<std::byte> taken = buffer.first(bytes);
      tensor_codec().write(*input, taken);
      if (!write_at(fd, begin + at, taken.data(), bytes)) return false;
    }
  }
  return true;
}

expected<void> read_tensors(probe_report& report, const std::vector<tensor_place>& places,
                            const std::shared_ptr<aligned_buffer>& owner, std::span<const std::byte> bytes) {
  auto place = places.begin();
  for (cut_report& cut : report.cuts) {
    for (payload_ptr& input : cut.warm_up) {
      if (place == places.end()) return malformed("it has fewer tensors than stages");
      const auto [at, size] = *place++;
      if (size == 0) continue;
      if (at % limits::payload_alignment != 0 || at > bytes.size() || size > bytes.size() - at) {
        return malformed("a tensor lies outside of it");
      }
      auto read = tensor_codec().read(bytes.subspan(at, size), owner);
      if (!read) return malformed(read.error().cause);
      if (as_tensors(*read).tensors().empty()) return malformed("a stage that is warmed up with nothing");
      input = std::move(*read);
    }
  }
  return {};
}

/// 0 if the text of any error fits, or errno: a limit is met here rather than by the process that reports.
int lack_of_resources(int fd) {
  constexpr std::uint64_t error_bytes = limits::worker_output_lines_kept * limits::worker_output_line_bytes_max;
  if (::fchmod(fd, S_IRUSR | S_IWUSR) != 0) return errno;
  if (const int lack = ::posix_fallocate(fd, 0, text_begin + error_bytes)) return lack;
  return ::ftruncate(fd, 0) == 0 ? 0 : errno;
}

}  // namespace

expected<void> check_cut(const cut_report& cut, std::uint32_t parts) {
  const auto& at = cut.boundaries;
  if (at.size() != std::size_t{parts} + 1 || cut.layers.size() != parts || cut.warm_up.size() != parts) {
    return malformed("it has another number of stages");
  }
  if (at.front() != 0 || at.back() > limits::layers_max || !std::ranges::is_sorted(at)) {
    return malformed("boundaries that no cut has");
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (cut.layers[part].size() != at[part + 1] - at[part]) return malformed("other layers than the cut says");
  }
  return {};
}

expected<probe_file> probe_file::make() {
  unique_fd file(::memfd_create("troupe-probe", MFD_CLOEXEC));
  const int lack = file ? lack_of_resources(file.get()) : errno;
  if (lack == 0) return probe_file(std::move(file));
  return fail(error_code::process_failed, "file in memory (troupe-probe)", errno_text(lack),
              "raise the limits of open files, of memory, and of the size of files (ulimit -f)");
}

expected<unique_fd> probe_file::duplicate() const {
  unique_fd copy(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (copy) return copy;
  return fail(error_code::process_failed, "file in memory (troupe-probe)", errno_text(),
              "raise the limit of open files (ulimit -n)");
}

void probe_file::note(const std::string& place) const {
  head now;
  now.place_bytes = std::min(place.size(), limits::probe_place_bytes_max);
  // A note that is lost makes a message shorter.
  static_cast<void>(write_at(file_.get(), place_begin, place.data(), now.place_bytes) &&
                    write_at(file_.get(), 0, &now, sizeof now));
}

expected<void> probe_file::write(const expected<probe_report>& report) const {
  expected<probe_report> sent = report;
  const auto places = sent ? lay_out(*sent) : std::vector<tensor_place>{};
  const std::string text = to_text(sent, places);
  const std::uint64_t bytes = text.size();
  if (bytes <= limits::probe_text_bytes_max && write_at(file_.get(), text_begin, text.data(), bytes) &&
      (!sent || write_tensors(file_.get(), aligned(text_begin + bytes), *sent, places)) &&
      write_at(file_.get(), offsetof(head, text_bytes), &bytes, sizeof bytes)) {
    return {};
  }
  return fail(error_code::process_failed, "the report of the try-out", "it could not be written: " + errno_text());
}

std::optional<std::string> probe_file::place() const {
  head found;
  if (!read_at(file_.get(), 0, &found, sizeof found)) return std::nullopt;
  std::string text(std::min<std::uint64_t>(found.place_bytes, limits::probe_place_bytes_max), '\0');
  if (!read_at(file_.get(), place_begin, text.data(), text.size())) return std::nullopt;
  return text;
}

std::optional<expected<probe_report>> probe_file::read() const {
  head found;
  if (!read_at(file_.get(), 0, &found, sizeof found) || found.text_bytes == 0) return std::nullopt;
  struct stat size {};
  if (::fstat(file_.get(), &size) != 0) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(size.st_size);
  if (bytes > limits::probe_report_bytes_max) return malformed("it is larger than any report");
  if (found.text_bytes > limits::probe_text_bytes_max || bytes < text_begin || found.text_bytes > bytes - text_begin) {
    return malformed("its text lies outside of it");
  }
  std::string text(found.text_bytes, '\0');
  if (!read_at(file_.get(), text_begin, text.data(), text.size())) return malformed("it cannot be read");
  std::vector<tensor_place> places;
  auto report = from_text(text, places);
  if (!report) return report;
  const std::uint64_t begin = std::min(aligned(text_begin + text.size()), bytes);
  const auto owner = std::make_shared<aligned_buffer>();
  if (bytes > begin && (!owner->reserve(bytes - begin) ||
                        !read_at(file_.get(), begin, owner->first(bytes - begin).data(), bytes - begin))) {
    return malformed("it cannot be read");
  }
  if (auto read = read_tensors(*report, places, owner, owner->first(bytes - begin)); !read) {
    return tl::make_unexpected(read.error());
  }
  return report;
}

}  // namespace troupe
