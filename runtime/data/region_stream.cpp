#include "runtime/data/region_stream.hpp"

#include <algorithm>

namespace troupe {

region_stream::region_stream(byte_region_ptr region)
    : std::istream(static_cast<std::streambuf*>(this)), region_(std::move(region)) {}

region_stream::int_type region_stream::underflow() {
  const std::uint64_t bytes = std::min<std::uint64_t>(block_.size(), region_->size() - end_);
  setg(block_.data(), block_.data(), block_.data());
  if (bytes == 0 || failure_) return traits_type::eof();
  auto* into = reinterpret_cast<std::uint8_t*>(block_.data());
  if (auto got = region_->read(end_, {into, static_cast<std::size_t>(bytes)}); !got) {
    failure_ = std::move(got.error());
    return traits_type::eof();
  }
  end_ += bytes;
  setg(block_.data(), block_.data(), block_.data() + bytes);
  return traits_type::to_int_type(block_.front());
}

region_stream::pos_type region_stream::seekoff(off_type by, std::ios_base::seekdir from,
                                               std::ios_base::openmode which) {
  const auto here = static_cast<off_type>(end_) - (egptr() - gptr());
  const off_type base = from == std::ios_base::beg   ? 0
                        : from == std::ios_base::cur ? here
                                                     : static_cast<off_type>(region_->size());
  return seekpos(base + by, which);
}

region_stream::pos_type region_stream::seekpos(pos_type to, std::ios_base::openmode /*which*/) {
  const off_type at = to;
  if (at < 0 || static_cast<std::uint64_t>(at) > region_->size()) return pos_type(off_type(-1));
  const std::uint64_t begin = end_ - static_cast<std::uint64_t>(egptr() - eback());
  const auto wanted = static_cast<std::uint64_t>(at);
  if (wanted >= begin && wanted < end_) {  // headers of small entries lie in one block
    setg(eback(), eback() + (wanted - begin), egptr());
    return to;
  }
  end_ = wanted;
  setg(block_.data(), block_.data(), block_.data());
  return to;
}

}  // namespace troupe
