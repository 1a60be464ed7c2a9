// `troupe eval` as a function call: options in, progress on the way, a result with its own proof of delivery out.
#include <iostream>

#include <troupe/troupe.hpp>

int main(int argc, char** argv) {
  const std::string data_dir = argc > 1 ? argv[1] : "data";
  troupe::eval_options options;
  options.model = data_dir + "/mnist/lenet.pt";
  options.data = "mnist:" + data_dir + "/mnist";
  options.stages = 3;
  options.replicas = 2;
  options.metrics = {"accuracy", "nll"};

  troupe::evaluation_hooks hooks;
  hooks.on_progress = [](const troupe::progress_update& now) {
    std::cerr << '\r' << now.samples_done << " of " << now.samples_total << " samples";
  };
  const auto fail = [](const troupe::error& cause) {
    std::cerr << to_string(cause) << '\n';
    return static_cast<int>(troupe::status_of(cause.code));
  };
  const auto evaluation = troupe::evaluator::create(options, hooks);  // bad input is found here
  if (!evaluation) return fail(evaluation.error());
  const auto result = (*evaluation)->run();
  std::cerr << '\n';
  if (!result) return fail(result.error());

  std::cout << troupe::result_table(*result, 100);
}
