// A chain from code: a source, a model cut into two stages, a sink.
#include "../support/show.hpp"
#include "topology.hpp"

int main(int argc, char** argv) {
  return run_and_show(examples::chain(argc > 1 ? argv[1] : "data"));
}
