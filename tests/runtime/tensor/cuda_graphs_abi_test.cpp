// Goal: what Troupe declares of at::cuda::CUDAGraph is what LibTorch declares. Compiled where CUDA's headers are.
#include <cstddef>
#include <type_traits>

#include <ATen/cuda/CUDAGraph.h>

#include "runtime/tensor/cuda_graphs.hpp"

namespace troupe {
namespace {

using at::cuda::CUDAGraph;
using ours = cuda_graph_functions;

/// A member, as the function of an object that it is for a caller; an enumeration is an int.
template <class>
struct call;
template <class R, class... Arguments>
struct call<R (CUDAGraph::*)(Arguments...)> {
  template <class T>
  using passed = std::conditional_t<std::is_enum_v<T>, int, T>;
  using type = R (*)(void*, passed<Arguments>...);
};
template <class Ours, auto theirs>
inline constexpr bool alike = std::is_same_v<Ours, typename call<decltype(theirs)>::type>;

static_assert(alike<decltype(ours::capture_begin), &CUDAGraph::capture_begin>);
static_assert(alike<decltype(ours::capture_end), &CUDAGraph::capture_end>);
static_assert(alike<decltype(ours::replay), &CUDAGraph::replay>);
static_assert(std::is_same_v<decltype(ours::make_pool), decltype(&at::cuda::graph_pool_handle)>);
static_assert(std::is_constructible_v<CUDAGraph, bool>);
static_assert(std::is_trivially_copy_constructible_v<at::MempoolId_t>, "it is passed in registers");
static_assert(sizeof(CUDAGraph) <= ours::object_bytes && alignof(CUDAGraph) <= alignof(std::max_align_t));
static_assert(!std::is_polymorphic_v<CUDAGraph>, "its destructor is called by its own name");
static_assert(int{cudaStreamCaptureModeThreadLocal} == ours::capture_of_this_thread);

}  // namespace
}  // namespace troupe
