// A metric and a data source of one's own: how sure is a model of digits that stand on their heads?
#include "../support/show.hpp"
#include "topology.hpp"

int main(int argc, char** argv) {
  return run_and_show(examples::own_parts(argc > 1 ? argv[1] : "data"));
}
