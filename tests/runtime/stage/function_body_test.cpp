// Goal: what a stage gave for a micro-batch stays as it is, also where the stage fills the memory anew, and what it
// made anew is not copied. Method: a stage of each kind, called twice, and a look at values and addresses.
#include "runtime/stage/function_body.hpp"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "runtime/tensor/tensor_set.hpp"
#include "stage_inputs.hpp"

namespace troupe {
namespace {

template <class Callable>
function_body body_of(Callable call) {
  return function_body(std::make_shared<callable_stage<Callable>>(std::move(call), false),
                       {.context = {.name = "stage 1"}});
}

at::Tensor given_by(function_body& body, const at::Tensor& input) {
  const activation in = micro_batch(0, input);
  std::vector<activation> outputs(1);
  get(body.run({&in, 1}, outputs));
  return as_tensors(outputs.front().tensors).single();
}

template <class Callable>
void expect_kept(Callable call) {
  function_body body = body_of(std::move(call));
  const at::Tensor first = given_by(body, at::ones({3, 4}));
  const at::Tensor second = given_by(body, at::full({3, 4}, 5.0F));
  EXPECT_TRUE(at::equal(first, at::full({3, 4}, 2.0F)));
  EXPECT_TRUE(at::equal(second, at::full({3, 4}, 10.0F)));
}

TEST(function_body, keeps_what_a_stage_writes_over_at_its_next_call) {
  expect_kept([buffer = at::empty({3, 4})](const at::Tensor& x) mutable {
    at::mul_out(buffer, x, at::full({}, 2.0F));
    return buffer;
  });
  expect_kept([buffer = at::empty({5, 4})](const at::Tensor& x) mutable {
    buffer.slice(0, 1, 4).copy_(x * 2);
    return buffer.slice(0, 1, 4);
  });
  expect_kept([memory = std::make_shared<std::vector<float>>(12)](const at::Tensor& x) {
    at::Tensor view = at::from_blob(memory->data(), {3, 4});
    view.copy_(x * 2);
    return view;
  });
}

TEST(function_body, copies_nothing_that_a_stage_made_anew) {
  const void* made = nullptr;
  function_body body = body_of([&](const at::Tensor& x) {
    at::Tensor twice = x * 2;
    made = twice.const_data_ptr();
    return twice.view({4, 3});
  });
  for (int round = 0; round < 3; ++round) {
    const at::Tensor given = given_by(body, at::ones({3, 4}));
    EXPECT_EQ(given.const_data_ptr(), made);
  }
}

TEST(function_body, copies_an_output_that_is_its_input) {
  const at::Tensor input = at::ones({3, 4});
  function_body body = body_of([](const at::Tensor& x) { return x.slice(1, 0, 2); });
  EXPECT_FALSE(given_by(body, input).is_alias_of(input));
}

}  // namespace
}  // namespace troupe
