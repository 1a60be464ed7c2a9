#include "hostile_pictures.hpp"

#include <fstream>
#include <iterator>

#include <zlib.h>

#include "../../support/paths.hpp"

namespace troupe::testing {

namespace {

std::string big_endian(std::uint32_t number, unsigned bytes) {
  std::string text;
  for (unsigned i = bytes; i-- > 0;) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string deflated(const std::string& plain) {
  std::string packed(compressBound(plain.size()), '\0');
  uLongf size = packed.size();
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(plain.data()), plain.size(),
            9);
  packed.resize(size);
  return packed;
}

std::string chunk(const std::string& name, const std::string& body) {
  const std::string checked = name + body;
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(checked.data()), checked.size());
  return big_endian(static_cast<std::uint32_t>(body.size()), 4) + checked +
         big_endian(static_cast<std::uint32_t>(crc), 4);
}

struct header {
  std::uint32_t width = 3;
  std::uint32_t height = 2;
  std::uint32_t bits = 8;
  std::uint32_t colours = 0;
  std::uint32_t interlaced = 0;
};

std::string head(const header& of) {
  return chunk("IHDR", big_endian(of.width, 4) + big_endian(of.height, 4) + big_endian(of.bits, 1) +
                           big_endian(of.colours, 1) + std::string(2, '\0') + big_endian(of.interlaced, 1));
}

const std::string signature = "\x89PNG\r\n\x1a\n";
const std::string six_pixels("\0abc\0def", 8);

std::string png(const header& of, const std::string& rows, const std::string& before = "") {
  return signature + head(of) + before + chunk("IDAT", deflated(rows)) + chunk("IEND", "");
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x55);
  return bytes;
}

/// Where the marker's length stands.
std::size_t marker_at(const std::string& jpeg, unsigned char marker) {
  const std::string wanted{'\xff', static_cast<char>(marker)};
  return jpeg.find(wanted) + wanted.size();
}

/// With other sizes in its frame header, which `marker` begins.
std::string resized(std::string jpeg, unsigned char marker, std::uint32_t height, std::uint32_t width) {
  return jpeg.replace(marker_at(jpeg, marker) + 3, 4, big_endian(height, 2) + big_endian(width, 2));
}

std::string with_byte(std::string jpeg, std::size_t at, unsigned char value) {
  jpeg.at(at) = static_cast<char>(value);
  return jpeg;
}

/// Its last scan again and again.
std::string with_scans(const std::string& jpeg, int count) {
  const std::size_t scan = jpeg.rfind("\xff\xda");
  const std::string last = jpeg.substr(scan, jpeg.size() - 2 - scan);
  std::string made = jpeg.substr(0, scan);
  for (int i = 0; i < count; ++i) made += last;
  return made + "\xff\xd9";
}

}  // namespace

std::string recorded_picture(const std::string& name) {
  std::ifstream file(source_dir() / "tests/runtime/image/recorded" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string small_png() {
  return png({}, six_pixels);
}

std::vector<hostile_picture> hostile_pngs() {
  const std::string zeros(40u << 20, '\0');
  const std::string profile = std::string("name") + '\0' + '\0' + deflated(zeros);
  std::string many_parts = signature + head({});
  for (int i = 0; i < 20'000; ++i) many_parts += chunk("IDAT", "");
  many_parts += chunk("IDAT", deflated(six_pixels)) + chunk("IEND", "");
  const std::string good = small_png();
  return {
      {"says_more_rows", png({.width = 60'000, .height = 2'900}, six_pixels), "Not enough image data"},
      {"says_too_many_pixels", png({.width = 60'000, .height = 60'000}, six_pixels), "178956970 in all"},
      {"says_the_greatest_size", png({.width = 0x7fffffff, .height = 0x7fffffff}, six_pixels),
       "no PNG that can be decoded"},
      {"says_no_width", png({.width = 0}, six_pixels), "no PNG that can be decoded"},
      {"says_negative_height", png({.height = 0xfffffff0}, six_pixels), "no PNG that can be decoded"},
      {"is_a_bomb",
       png({.width = 30'000, .height = 5'000, .bits = 1}, std::string(std::size_t{5'000} * (30'000 / 8 + 1), '\0')),
       "good"},
      {"is_an_interlaced_bomb", png({.width = 9'000, .height = 9'000, .bits = 1, .interlaced = 1}, six_pixels),
       "an interlaced PNG"},
      {"has_text_that_unpacks_to_much",
       png({}, six_pixels, chunk("zTXt", std::string("k") + '\0' + '\0' + deflated(zeros))), "good"},
      {"has_a_profile_that_unpacks_to_much", png({}, six_pixels, chunk("iCCP", profile)), "good"},
      {"has_much_text", png({}, six_pixels, chunk("tEXt", "k" + std::string(1, '\0') + zeros)), "good"},
      {"has_data_that_unpack_to_much", png({}, six_pixels + zeros), "good"},
      {"has_text_longer_than_the_file", signature + head({}) + big_endian(0x7ffffff0, 4) + "tEXtabc", "ends too early"},
      {"has_a_chunk_of_more_than_2_gib", signature + head({}) + big_endian(0xfffffff0, 4) + "tEXtabc",
       "no PNG that can be decoded"},
      {"has_a_wrong_checksum_of_its_header", flipped(good, 30), "no PNG that can be decoded"},
      {"has_a_wrong_checksum_of_its_data", flipped(good, good.size() - 14), "no PNG that can be decoded"},
      {"has_damaged_data", signature + head({}) + chunk("IDAT", "not deflated") + chunk("IEND", ""),
       "no PNG that can be decoded"},
      {"has_no_data", signature + head({}) + chunk("IEND", ""), "no PNG that can be decoded"},
      {"has_20000_empty_parts", many_parts, "good"},
      {"has_no_palette", png({.colours = 3}, six_pixels), "no PNG that can be decoded"},
      {"has_a_palette_of_300", png({.colours = 3}, six_pixels, chunk("PLTE", std::string(900, 'x'))),
       "no PNG that can be decoded"},
      {"has_3_bits", png({.bits = 3}, six_pixels), "no PNG that can be decoded"},
      {"has_an_unknown_critical_chunk", png({}, six_pixels, chunk("ABCD", "x")), "no PNG that can be decoded"},
      {"has_no_end", good.substr(0, good.size() - 12), "ends too early"},
      {"is_a_signature", signature, "ends too early"},
  };
}

std::vector<hostile_picture> hostile_jpegs() {
  const std::string plain = recorded_picture("rgb_420.jpg");
  const std::string progressive = recorded_picture("rgb_420_progressive.jpg");
  const std::size_t frame = marker_at(plain, 0xc0);
  const std::size_t tables = marker_at(plain, 0xc4);
  const std::string comment = "\xff\xfe" + big_endian(0xffff, 2) + std::string(0xfffd, 'c');
  std::string comments = plain.substr(0, 2);
  for (int i = 0; i < 300; ++i) comments += comment;
  comments += plain.substr(2);
  return {
      {"says_too_many_pixels", resized(plain, 0xc0, 65'500, 65'500), "178956970 in all"},
      {"says_more_than_a_side_has", resized(plain, 0xc0, 65'535, 10), "no JPEG that can be decoded"},
      // The end comes before the data do, as in files that Pillow takes: the rest is grey.
      {"says_many_pixels", resized(plain, 0xc0, 4'000, 30'000), "good"},
      {"is_progressive_and_says_many_pixels", resized(progressive, 0xc2, 8'000, 20'000), "a JPEG of several scans"},
      {"has_3000_scans", with_scans(progressive, 3'000), "more than 100 scans"},
      {"says_no_height", resized(plain, 0xc0, 0, 16), "no JPEG that can be decoded"},
      {"has_12_bits", with_byte(plain, frame + 2, 12), "no JPEG that can be decoded"},
      {"has_255_components", with_byte(plain, frame + 7, 255), "no JPEG that can be decoded"},
      {"has_odd_sampling", with_byte(plain, frame + 9, 0x5f), "no JPEG that can be decoded"},
      {"has_a_frame_of_no_length", with_byte(with_byte(plain, frame, 0), frame + 1, 0), "no JPEG that can be decoded"},
      {"has_wrong_tables", with_byte(plain, tables + 3, 255), "no JPEG that can be decoded"},
      // Those of the standard are taken; and damage within a scan is passed over.
      {"has_no_tables", plain.substr(0, tables - 2) + plain.substr(plain.find("\xff\xda")), "good"},
      {"has_two_frames", plain.substr(0, frame - 2) + plain.substr(frame - 2, 19) + plain.substr(frame - 2),
       "no JPEG that can be decoded"},
      {"has_300_comments", comments, "good"},
      {"has_no_picture", "\xff\xd8\xff\xd9", "no JPEG that can be decoded"},
      {"has_no_end", plain.substr(0, plain.size() - 2), "ends too early"},
      {"is_arithmetic", with_byte(plain, frame - 1, 0xc9), "good"},
      {"is_lossless", with_byte(plain, frame - 1, 0xc3), "no JPEG that can be decoded"},
  };
}

}  // namespace troupe::testing
