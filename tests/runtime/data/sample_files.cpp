#include "sample_files.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <unistd.h>
#include <zlib.h>

namespace troupe::testing {

namespace {

void append_big_endian(bytes& out, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

}  // namespace

scratch_directory::scratch_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "test-data-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch directory");
  path_ = name;
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string scratch_directory::write(const std::string& name, const bytes& content) const {
  const std::string path = *this / name;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
  return path;
}

bytes changed(bytes content, std::size_t at, std::uint8_t value) {
  content.at(at) = value;
  return content;
}

bytes cut(bytes content, std::size_t size) {
  content.resize(size);
  return content;
}

bytes extended(bytes content, std::size_t by) {
  content.resize(content.size() + by, 7);
  return content;
}

bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes, const bytes& payload) {
  bytes out;
  append_big_endian(out, magic);
  for (const std::uint32_t size : sizes) append_big_endian(out, size);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

bytes idx_images(std::uint32_t n) {
  bytes pixels;
  for (std::uint32_t i = 0; i < n * 6; ++i) pixels.push_back(static_cast<std::uint8_t>(i));
  return idx(0x803, {n, 2, 3}, pixels);
}

bytes idx_labels(std::uint32_t n) {
  bytes labels;
  for (std::uint32_t i = 0; i < n; ++i) labels.push_back(static_cast<std::uint8_t>(i % 10));
  return idx(0x801, {n}, labels);
}

bytes gzip(const bytes& plain) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("deflateInit2");
  bytes out(deflateBound(&z, plain.size()) + 64);
  z.next_in = const_cast<Bytef*>(plain.data());
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

bytes cifar_records(std::uint32_t n) {
  bytes out;
  for (std::uint32_t i = 0; i < n; ++i) {
    out.push_back(static_cast<std::uint8_t>(i % 10));
    for (std::uint32_t p = 0; p < 3072; ++p) out.push_back(static_cast<std::uint8_t>(i * 7 + p));
  }
  return out;
}

bytes npy(const std::string& dictionary, const bytes& payload, std::uint8_t major, std::size_t alignment) {
  const std::size_t width = major == 1 ? 2 : 4;
  std::string text = dictionary;
  while ((8 + width + text.size() + 1) % alignment != 0) text += ' ';
  text += '\n';
  bytes out{0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
  for (std::size_t i = 0; i < width; ++i) out.push_back(static_cast<std::uint8_t>(text.size() >> (8 * i)));
  out.insert(out.end(), text.begin(), text.end());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

std::string dictionary(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string npy_pair(const scratch_directory& dir, const bytes& inputs, const bytes& labels) {
  return "npy:" + dir.write("x.npy", inputs) + "," + dir.write("y.npy", labels);
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i) * 0.25F - 3;
  return values;
}

bytes three_inputs() {
  return npy(dictionary("<f4", "(3, 2)"), raw(ramp(6)));
}

bytes three_classes() {
  return npy(dictionary("<i8", "(3,)"), raw(std::vector<std::int64_t>{0, 1, 1}));
}

data_set_ptr opened(const std::string& specification) {
  expected<data_set_ptr> data = open_data(specification);
  if (!data) throw std::runtime_error(to_string(data.error()));
  return *data;
}

}  // namespace troupe::testing
