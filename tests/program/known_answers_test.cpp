// Goal: the known answers, and loss sums equal to the last bit, whatever the layout. Method: a pairwise cover of
// stages, replicas, micro-batch sizes, threads and optimize modes on the full MNIST test set, which is in the
// repository; bits are compared within this run only.
#include "tests/program/support/known_answers.hpp"

#include <gmock/gmock.h>

#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

// Every pair of (stages 1 2 4 15), (replicas 1 2 3), (micro-batch 7 64 999 10000), (threads 1 2) and (layer, none)
// occurs, and each (micro-batch, threads, optimize) at least twice, so that there is something to compare its bits
// with.
const std::vector<layout> cover = {
    {1, 1, 7, 1, by_layer},     {15, 3, 7, 1, by_layer},     {2, 2, 7, 2, as_it_is},     {4, 1, 7, 2, as_it_is},
    {1, 3, 64, 2, by_layer},    {2, 1, 64, 2, by_layer},     {4, 2, 64, 1, as_it_is},    {15, 1, 64, 1, as_it_is},
    {1, 2, 999, 1, as_it_is},   {4, 3, 999, 1, as_it_is},    {2, 3, 999, 2, by_layer},   {15, 2, 999, 2, by_layer},
    {1, 1, 10000, 2, as_it_is}, {15, 1, 10000, 2, as_it_is}, {2, 2, 10000, 1, by_layer}, {4, 3, 10000, 1, by_layer},
};

TEST(known_answers, lenet_on_mnist) {
  const std::string mnist = (data_dir() / "mnist").string();
  check({mnist + "/lenet.pt",
         "mnist:" + mnist,
         "nll",
         9904,
         0.0303734,
         {972, 1134, 1028, 1003, 970, 879, 942, 1020, 960, 996}},
        cover);
}

TEST(known_answers, micro_batches_of_one) {
  const std::string mnist = (data_dir() / "mnist").string();
  check({mnist + "/lenet.pt",
         "mnist:" + mnist,
         "nll",
         9904,
         0.0303734,
         {972, 1134, 1028, 1003, 970, 879, 942, 1020, 960, 996}},
        {{1, 1, 1, 1, by_layer}, {2, 2, 1, 1, by_layer}, {3, 1, 1, 1, by_layer}});
}

}  // namespace
}  // namespace troupe::testing
