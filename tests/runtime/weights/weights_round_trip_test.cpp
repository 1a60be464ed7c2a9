// Goal: PyTorch and the safetensors package read what Troupe writes, and Troupe reads what they write: random weights,
// other ones in each run.
// Method: round_trip.py, run by the Python that TROUPE_TORCH_PYTHON names, else python3, if that has both packages.
#include <cstdio>
#include <cstdlib>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "../../support/paths.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

std::string python() {
  const char* given = std::getenv("TROUPE_TORCH_PYTHON");
  return given != nullptr ? given : "python3";
}
int run(const std::string& arguments) {
  return std::system(("\"" + python() + "\" " + arguments).c_str());
}
std::string script() {
  return "\"" + (source_dir() / "tests/runtime/weights/round_trip.py").string() + "\" ";
}

bool has_packages() {
  return run("-c 'import torch, safetensors' 2>/dev/null") == 0;
}

class round_trip : public ::testing::Test {
 protected:
  [[nodiscard]] std::string place() const { return "\"" + folder_.path().string() + "\""; }

  weights_folder folder_;
};

TEST_F(round_trip, keeps_all_bits) {
  ASSERT_EQ(run(script() + "write " + place()), 0);
  const auto at = [&](const char* name) { return folder_.path() / name; };
  const state_dict wanted = loaded(at("wanted.safetensors"));
  for (const char* name : {"zip.pt", "legacy.pt", "protocol5.pt", "checkpoint.pt", "sharded", "pickled"}) {
    expect_equal(loaded(at(name)), wanted, name);
  }
  const state_dict views = loaded(at("zip.pt"));
  ASSERT_TRUE(save_weights(at("saved.pt"), views, weights_format::torch_zip));
  ASSERT_TRUE(save_weights(at("saved.safetensors"), views, weights_format::safetensors));
  const at::Tensor tied = at::randn({2, 2});
  ASSERT_TRUE(save_weights(at("tied.pt"), {{"a", tied}, {"b", tied}}, weights_format::torch_zip));
  const state_dict linear{{"weight", at::randn({3, 2})}, {"bias", at::randn({3})}};
  ASSERT_TRUE(save_weights(at("linear.pt"), linear, weights_format::torch_zip));
  EXPECT_EQ(run(script() + "check " + place()), 0);
}

}  // namespace

/// Who names a Python wants it used: that it lacks a package fails the test.
bool is_to_be_skipped() {
  return std::getenv("TROUPE_TORCH_PYTHON") == nullptr && !has_packages();
}

}  // namespace troupe::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (troupe::testing::is_to_be_skipped()) {
    std::puts("skipped: python3 has no torch and safetensors; name a Python that has them in TROUPE_TORCH_PYTHON");
    return 77;
  }
  return RUN_ALL_TESTS();
}
