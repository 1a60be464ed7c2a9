// The main() of test programs that need the full reference data: without them no test runs, and ctest is told by the
// exit status that all were skipped (troupe_full_data_test). A test that fails has another status than that.
#include <cstdio>

#include <gmock/gmock.h>

#include "tests/support/paths.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  // Who says where they are wants them used: that they are not there fails the tests.
  const bool is_promised = std::getenv("TROUPE_DATA_DIR") != nullptr;
  const auto file = troupe::testing::full_data_dir() / "cifar10/test_batch.bin";
  if (!is_promised && !std::filesystem::exists(file)) {
    std::puts("skipped: no full CIFAR-10; set TROUPE_DATA_DIR");
    return TROUPE_SKIPPED;
  }
  return RUN_ALL_TESTS();
}
