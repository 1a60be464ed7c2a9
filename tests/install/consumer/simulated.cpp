// A test of a topology outside Troupe's tree, with the target troupe::simulation alone.
#include <iostream>

#include <troupe/simulation.hpp>

int main() {
  const auto network = troupe::simulation::network{}.stage("first").stage("second", nullptr, {.replicas = 2});
  const auto run = troupe::simulation::simulate(network, 1, {.faults = false});
  if (!run || !run->difference.empty()) return 1;
  std::cout << "it ends with the " << run->ended << '\n';
}
