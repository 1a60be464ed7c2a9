// Regression on a table: some columns of a CSV file are the input, another one is the number that the model should
// give.
#include <iostream>

#include <troupe/troupe.hpp>

int main(int argc, char** argv) {
  const std::string folder = std::string(argc > 1 ? argv[1] : "data") + "/houses";
  auto houses = troupe::get(troupe::open_data("csv:" + folder + "/houses.csv,columns=area+rooms+age,target=price"));
  auto engine = troupe::get(troupe::pipeline_engine::create(folder + "/houses.pt", {.stages = 2}));
  const auto result = troupe::get(engine->evaluate(houses, 32, {"mse", "mae", "r2"}));
  std::cout << troupe::result_table(result, 100);
}
