// Goal: the step in the names that trainers give checkpoints. Method: names of DeepSpeed, transformers, Lightning, timm
// and plain scripts, and names that are traps.
#include <gtest/gtest.h>

#include <troupe/scalars.hpp>

namespace troupe {
namespace {

struct named_step {
  const char* name;
  std::optional<std::uint64_t> step;
};

class checkpoint_names : public ::testing::TestWithParam<named_step> {};

TEST_P(checkpoint_names, tell_the_step) {
  EXPECT_EQ(checkpoint_step(GetParam().name), GetParam().step) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    all, checkpoint_names,
    ::testing::Values(
        named_step{"global_step100", 100}, named_step{"checkpoint-1000", 1000}, named_step{"step-1000", 1000},
        named_step{"runs/7/step_0020/", 20}, named_step{"epoch=3-step=1200.ckpt", 1200},
        named_step{"epoch=3-step=1200-val_loss=0.31.ckpt", 1200}, named_step{"epoch=9-val_loss=0.31.ckpt", 9},
        named_step{"resnet20_12.pt", 12}, named_step{"checkpoint-9.pth.tar", 9}, named_step{"Step5.SAFETENSORS", 5},
        named_step{"iter_0000500", 500}, named_step{"model_iteration_40.bin", 40}, named_step{"step-7.pt2", 7},
        named_step{"step100step", 100}, named_step{"steps-9", 9}, named_step{"0", 0}, named_step{"step0.pt", 0},
        named_step{"9223372036854775807", 9223372036854775807U}, named_step{"9223372036854775808", std::nullopt},
        named_step{"step-99999999999999999999.pt", std::nullopt}, named_step{"best.pt", std::nullopt},
        named_step{"model.pt2", std::nullopt}, named_step{"", std::nullopt}, named_step{"step", std::nullopt},
        named_step{"5/final", std::nullopt}));

}  // namespace
}  // namespace troupe
