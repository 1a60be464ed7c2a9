// Stages that are not models: image augmentation before the model, a vote over four crops after it.
#include "../support/show.hpp"
#include "topology.hpp"

int main(int argc, char** argv) {
  return run_and_show(examples::crops(argc > 1 ? argv[1] : "data"));
}
