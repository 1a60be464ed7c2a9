// Goal: what a header pins tells different files and processors apart. Method: published SHA-256 vectors; texts in the
// form of /proc/cpuinfo.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "runtime/journal/processor.hpp"
#include "runtime/os/file_hash.hpp"
#include "tests/runtime/journal/journal_support.hpp"

namespace troupe::testing {
namespace {

std::string hash_of(const std::string& content) {
  const journal_directory directory;
  write_content(directory.file(), content);
  return *sha256_of_file(directory.file(), error_code::data_unreadable);
}

TEST(sha256_of_file, gives_the_vectors_of_fips_180) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_NE(hash_of(std::string(3U << 20U, 'a')), hash_of(std::string(3U << 20U, 'a') + "a"));
}

/// A plain open of one without a writer never returns.
TEST(sha256_of_file, refuses_what_is_no_regular_file) {
  const journal_directory directory;
  ASSERT_EQ(::mkfifo(directory.file("pipe").c_str(), 0600), 0);
  const auto hash = sha256_of_file(directory.file("pipe"), error_code::model_unreadable);
  ASSERT_FALSE(hash);
  EXPECT_EQ(hash.error().cause, "is a FIFO, not a regular file");
}

TEST(sha256_of_file, names_a_file_that_cannot_be_read) {
  const journal_directory directory;
  for (const std::string& path : {directory.file("none"), directory.file("")}) {
    const auto hash = sha256_of_file(path, error_code::model_unreadable);
    ASSERT_FALSE(hash);
    EXPECT_EQ(hash.error().code, error_code::model_unreadable);
    EXPECT_EQ(hash.error().where, path);
  }
}

TEST(processor_of, has_the_model_and_the_vector_sets_of_the_first_processor) {
  EXPECT_EQ(
      processor_of("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon "
                   "8480\ncpu MHz\t\t: 2000.1\n"
                   "flags\t\t: fpu vme sse4_2 avx2 avx fma amx_tile ibrs\n\nprocessor\t: 1\nmodel name\t: Other\n"),
      "GenuineIntel 6 143 Xeon 8480 (amx_tile avx avx2 fma sse4_2)");
  EXPECT_EQ(processor_of("processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"),
            "(asimd sve) 0x41 0xd40");
  EXPECT_EQ(processor_of(""), "unknown");
}

TEST(this_processor, is_the_same_every_time) {
  EXPECT_FALSE(this_processor().empty());
  EXPECT_EQ(this_processor(), this_processor());
}

}  // namespace
}  // namespace troupe::testing
