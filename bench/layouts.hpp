#pragma once

#include <string>
#include <vector>

namespace troupe::bench {

/// Evaluates the test sets in every layout: stages 1 to 15, replicas 1 to 3, five micro-batch sizes, 1 and 2 threads.
/// Counts must be the known ones; loss sums must be equal to the last bit wherever micro-batch size and threads are.
/// Prints each mismatch, and JSON at the end. True if there was none. ResNet-20 only where the full CIFAR-10 file is.
bool check_all_layouts(const std::vector<std::string>& models);

}  // namespace troupe::bench
