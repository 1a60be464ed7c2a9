// Evaluates a model at several steps of a training, writes its metrics for TensorBoard and as CSV, and reads the CSV.
// A second start with the same folder writes nothing: scalars are written once.
//
//   scalars [DATA_DIR [FOLDER]]
#include <filesystem>
#include <fstream>
#include <iostream>

#include <troupe/scalars.hpp>
#include <troupe/troupe.hpp>

int main(int argc, char** argv) try {
  const std::string data_dir = argc > 1 ? argv[1] : "data";
  const auto temporary = std::filesystem::temp_directory_path() / "troupe-example-scalars";
  const std::filesystem::path folder = argc > 2 ? std::filesystem::path(argv[2]) : temporary;
  if (argc <= 2) std::filesystem::remove_all(folder);

  const auto tensorboard = troupe::get(troupe::scalar_log::open(folder));
  const auto csv = troupe::get(troupe::scalar_log::open(folder / "scalars.csv"));
  for (const std::uint64_t step : {100U, 200U}) {
    troupe::eval_options options;
    options.model = data_dir + "/mnist/lenet.pt";  // the checkpoint of this step
    options.data = "mnist:" + data_dir + "/mnist";
    options.run.limit = 5 * step;
    const auto result = troupe::get(troupe::get(troupe::evaluator::create(options, {}))->run());
    const auto scalars = troupe::scalars_of(result);
    const auto written = troupe::get(tensorboard->write(step, scalars)) + troupe::get(csv->write(step, scalars));
    std::cout << "step " << step << ": " << written << " scalars written\n";
  }

  std::ifstream file(folder / "scalars.csv");
  for (std::string row; std::getline(file, row);) std::cout << row << '\n';
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
