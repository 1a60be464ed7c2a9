// A program outside Troupe's tree: LeNet on the MNIST test images in two stages.
#include <filesystem>
#include <iostream>

#include <troupe/troupe.hpp>

namespace {

troupe::expected<troupe::run_result> evaluate(const std::filesystem::path& data_dir) {
  auto data = troupe::open_data("mnist:" + (data_dir / "mnist").string());
  if (!data) return tl::make_unexpected(data.error());
  auto engine = troupe::pipeline_engine::create((data_dir / "mnist/lenet.pt").string(), {.stages = 2}, {});
  if (!engine) return tl::make_unexpected(engine.error());
  return (*engine)->evaluate(*data, 64, {"accuracy"});
}

}  // namespace

int main(int argc, char** argv) {
  const auto result = evaluate(argc > 1 ? argv[1] : "data");
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return 1;
  }
  std::cout << troupe::result_table(*result, 100);
  for (const auto& field : result->metrics[0].fields) {
    if (field.name == "correct") {
      std::cout << "correct " << field.counts[0] << " of " << result->samples << " in " << result->stages.size()
                << " stages\n";
    }
  }
}
