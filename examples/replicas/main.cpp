// A replicated slow stage: two copies of a median filter before the model.
#include "../support/show.hpp"
#include "topology.hpp"

int main(int argc, char** argv) {
  return run_and_show(examples::replicas(argc > 1 ? argv[1] : "data", 2), {.limit = 2000});
}
