// Goal: the known answers of ResNet-20, and loss sums equal to the last bit, whatever the layout. Method: some layouts
// on all 10,000 CIFAR-10 records, which are not in the repository.
#include <gmock/gmock.h>

#include "tests/program/support/known_answers.hpp"
#include "tests/support/case_choice.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

TEST(known_answers, resnet20_on_cifar10) {
  const std::string file = (full_data_dir() / "cifar10/test_batch.bin").string();
  check(
      {(data_dir() / "cifar10/resnet20.pt").string(),
       "cifar10:" + file,
       "cross_entropy",
       8103,
       0.8787963,
       {748, 775, 680, 700, 905, 709, 873, 841, 929, 943}},
      some_of<layout>(
          {{2, 1, 64, 1, by_layer}, {15, 2, 64, 1, by_layer}, {4, 1, 999, 2, as_it_is}, {1, 1, 999, 2, as_it_is}}, 2));
}

TEST(known_answers, resnet20_on_cifar10_from_published_weights) {
  check({"",
         "cifar10:" + (full_data_dir() / "cifar10/test_batch.bin").string(),
         "cross_entropy",
         8103,
         0.8787963,
         {748, 775, 680, 700, 905, 709, 873, 841, 929, 943},
         "resnet20-cifar",
         (data_dir() / "cifar10/resnet20.th").string()},
        some_of<layout>({{2, 1, 64, 1, by_layer}, {4, 2, 64, 1, by_layer}, {1, 1, 999, 2, as_it_is}}, 1));
}

}  // namespace
}  // namespace troupe::testing
