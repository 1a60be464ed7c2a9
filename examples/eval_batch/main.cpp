// For people who come from DeepSpeed: eval_batch on an iterator, calls that queue, and the exact evaluation of a data
// set. Arguments: the data directory, and --processes for stages in worker processes.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>

#include <ATen/ops/nll_loss.h>

#include <troupe/troupe.hpp>

namespace {

/// Gives a data set in consecutive micro-batches, the last as small as it comes out, and then nothing.
class micro_batches {
 public:
  micro_batches(troupe::data_set_ptr data, std::uint64_t size) : data_(std::move(data)), size_(size) {}

  std::optional<troupe::batch> operator()() {
    if (next_ == data_->size()) return std::nullopt;
    const std::uint64_t begin = std::exchange(next_, std::min(next_ + size_, data_->size()));
    const auto block = troupe::get(data_->read({begin, next_}));  // what it throws fails this call alone, with E0604
    return troupe::batch{block.inputs, block.labels};
  }

 private:
  troupe::data_set_ptr data_;
  std::uint64_t size_;
  std::uint64_t next_ = 0;
};

/// One call: the mean loss of four micro-batches, and the logits of all of them.
void one_call(troupe::pipeline_engine& engine, const troupe::data_set_ptr& data) {
  const auto output = troupe::get(engine.eval_batch(micro_batches{data, 64}, {.return_logits = true}));
  std::cout << "first call: " << output.micro_batches << " micro-batches, " << output.samples << " samples, logits "
            << output.logits.size() << " x " << output.logits[0].sizes() << ", mean NLL " << output.loss[0] << '\n';
}

/// The whole data set in calls that go on in one iterator. All are queued at once: the stages never run empty in
/// between.
void queued_calls(troupe::pipeline_engine& engine, const troupe::data_set_ptr& data) {
  engine.set_dataiterator(micro_batches{data, 64});
  std::vector<troupe::eval_future> calls;
  for (int call = 0; call < 40; ++call) {
    calls.push_back(engine.eval_batch_async({}, {.return_logits = true, .reduce_output = troupe::reduction::none}));
  }
  std::uint64_t count = 0;
  std::int64_t samples = 0;
  double sum = 0;
  bool exhausted = false;
  for (auto& call : calls) {
    const auto output = troupe::get(call.get());
    for (std::size_t i = 0; i < output.losses.size(); ++i) {
      const std::int64_t size = output.logits[i].size(0);
      sum += output.losses[i][0] * static_cast<double>(size);  // by samples: the last micro-batch has 16
      samples += size;
    }
    count += output.micro_batches;
    exhausted = output.exhausted;
  }
  std::cout << calls.size() << " calls: " << count << " micro-batches, " << samples << " samples, NLL "
            << sum / static_cast<double>(samples) << (exhausted ? ", iterator exhausted" : "") << '\n';
}

/// The same as one exact evaluation.
void whole_set(troupe::pipeline_engine& engine, const troupe::data_set_ptr& data) {
  const auto result = troupe::get(engine.evaluate(data, 64, {"accuracy", "nll"}));
  std::cout << "evaluate: " << result["accuracy"].count("correct") << " of " << result.samples << " correct, NLL "
            << result["nll"].value() << ", " << result.delivery.lost << " lost\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const troupe::program program{argc, argv};
  const std::string data_dir = argc > 1 ? argv[1] : "data";
  const bool processes = argc > 2 && argv[2] == std::string("--processes");
  const auto data = troupe::get(troupe::open_data("mnist:" + data_dir + "/mnist"));
  const auto nll = [](const at::Tensor& outputs, const at::Tensor& labels) {
    return std::vector<at::Tensor>{at::nll_loss(outputs, labels)};
  };
  const troupe::pipeline_engine_options options{
      .stages = 2, .num_micro_batches = 4, .run = {.workers = {.enabled = processes}}};
  // a worker process does not come back from here
  const auto engine = troupe::get(troupe::pipeline_engine::create(data_dir + "/mnist/lenet.pt", options, nll));
  std::cout << std::fixed << std::setprecision(5);
  one_call(*engine, data);
  queued_calls(*engine, data);
  whole_set(*engine, data);
} catch (const troupe::error_exception& e) {
  std::cerr << e.what() << '\n';
  return static_cast<int>(troupe::status_of(e.details().code));
}
