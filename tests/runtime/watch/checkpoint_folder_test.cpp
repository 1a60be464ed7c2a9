// Goal: which entries of a folder are checkpoints, in which order, and that a stamp changes with each write. Method: a
// folder with what DeepSpeed, transformers and plain scripts leave, and with other things.
#include "runtime/watch/checkpoint_folder.hpp"

#include <gmock/gmock.h>

#include "watched_folder.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

class checkpoint_folder : public watched_folder {
 protected:
  [[nodiscard]] std::vector<std::string> found() const {
    std::vector<std::string> names;
    const auto seen = checkpoints_in(folder_);
    for (const seen_checkpoint& each : *seen) {
      names.push_back(std::to_string(each.step) + " " + each.name + (each.is_unnamed ? " unnamed" : ""));
    }
    return names;
  }
};

TEST_F(checkpoint_folder, has_files_and_folders_by_step) {
  put("step-100.safetensors");
  put("step-20.pt");
  put("model_3.pth");
  put("checkpoint-50/model.safetensors");
  put("checkpoint-60/pytorch_model.bin");
  put("checkpoint-70/model-00001-of-00002.safetensors");
  put("global_step80/layer_00-model_states.pt");
  EXPECT_THAT(found(), ElementsAre("3 model_3.pth", "20 step-20.pt", "50 checkpoint-50", "60 checkpoint-60",
                                   "70 checkpoint-70", "80 global_step80", "100 step-100.safetensors"));
}

TEST_F(checkpoint_folder, leaves_out_what_is_no_checkpoint) {
  put("best.pt");
  put("step-1.pt.tmp");
  put(".step-2.pt");
  put("tmp-checkpoint-3/model.safetensors");
  put("step-4.safetensors.incomplete");
  put("checkpoint-5/config.json");
  put("step-6.txt");
  put("logs/events.out.tfevents.1");
  std::filesystem::create_symlink("step-7.pt", folder_ / "step-8.pt");
  std::filesystem::create_directory(folder_ / "step-9.pt");
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(checkpoint_folder, says_that_the_latest_tag_is_an_earlier_one) {
  put("global_step1/layer_00-model_states.pt");
  put("global_step2/layer_00-model_states.pt");
  EXPECT_THAT(found(), ElementsAre("1 global_step1", "2 global_step2"));
  put("latest", "global_step1\n");
  EXPECT_THAT(found(), ElementsAre("1 global_step1", "2 global_step2 unnamed"));
  put("latest", "global_step2");
  EXPECT_THAT(found(), ElementsAre("1 global_step1", "2 global_step2"));
}

TEST_F(checkpoint_folder, that_is_not_there_is_an_error) {
  EXPECT_EQ(checkpoints_in(folder_ / "none").error().code, error_code::model_missing);
  put("file");
  EXPECT_EQ(checkpoints_in(folder_ / "file").error().code, error_code::model_unreadable);
}

TEST_F(checkpoint_folder, has_a_stamp_that_changes_with_its_files) {
  put("step-1.pt");
  put("checkpoint-2/model.safetensors");
  for (const char* name : {"step-1.pt", "checkpoint-2"}) {
    const auto before = stamp_of(folder_ / name);
    ASSERT_TRUE(before);
    EXPECT_EQ(stamp_of(folder_ / name), before);
  }
  const auto file = *stamp_of(folder_ / "step-1.pt");
  put("step-1.pt", "weights and more");
  EXPECT_NE(*stamp_of(folder_ / "step-1.pt"), file);
  const auto folder = *stamp_of(folder_ / "checkpoint-2");
  put("checkpoint-2/optimizer.pt");
  EXPECT_NE(*stamp_of(folder_ / "checkpoint-2"), folder);
  EXPECT_FALSE(stamp_of(folder_ / "none"));
}

}  // namespace
}  // namespace troupe::testing
