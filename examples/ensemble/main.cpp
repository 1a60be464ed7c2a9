// An ensemble: two models on the same samples, their opinions averaged by a stage that joins them.
#include "../support/show.hpp"
#include "topology.hpp"

int main(int argc, char** argv) {
  return run_and_show(examples::ensemble(argc > 1 ? argv[1] : "data"));
}
