// An early-exit cascade: exact accuracy over all samples, and how many of them each model answered.
#include "../support/show.hpp"
#include "topology.hpp"

int main(int argc, char** argv) {
  const troupe::topology cascade = examples::cascade(argc > 1 ? argv[1] : "data");
  std::cout << cascade.picture() << '\n';
  return run_and_show(cascade);
}
