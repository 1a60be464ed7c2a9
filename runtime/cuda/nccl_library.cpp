#include "runtime/cuda/nccl_library.hpp"

#include <utility>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/cuda/function_finder.hpp"

namespace troupe {
namespace {

expected<nccl::functions> functions_of(const shared_library& library) {
  nccl::functions made;
  function_finder find(library);
  find("ncclGetVersion", made.get_version)("ncclGetErrorString", made.get_error_string);
  find("ncclGetLastError", made.get_last_error)("ncclGetUniqueId", made.get_unique_id);
  find("ncclCommInitRankConfig", made.comm_init_rank_config)("ncclCommGetAsyncError", made.comm_get_async_error);
  find("ncclCommFinalize", made.comm_finalize)("ncclCommDestroy", made.comm_destroy);
  find("ncclCommAbort", made.comm_abort)("ncclSend", made.send)("ncclRecv", made.recv);
  find("ncclGroupStart", made.group_start)("ncclGroupEnd", made.group_end);
  if (!find.found()) return tl::make_unexpected(find.found().error());
  library.find_optional("ncclCommRevoke", made.comm_revoke);
  return made;
}

bool is_complete(const nccl::functions& of) {
  return of.get_version && of.get_error_string && of.get_last_error && of.get_unique_id && of.comm_init_rank_config &&
         of.comm_get_async_error && of.comm_finalize && of.comm_destroy && of.comm_abort && of.send && of.recv &&
         of.group_start && of.group_end;
}

}  // namespace

expected<nccl_library> nccl_library::load(const std::string& name) {
  const auto library = TROUPE_TRY(shared_library::open(name));
  const auto functions = TROUPE_TRY(functions_of(library));
  return of(functions, name);
}

expected<nccl_library> nccl_library::of(const nccl::functions& functions, const std::string& name) {
  if (!is_complete(functions)) return fail(error_code::library_unusable, name, "a function of NCCL is missing");
  int version = 0;
  if (functions.get_version(&version) != nccl::result::success || version <= 0) {
    return fail(error_code::library_unusable, name, "ncclGetVersion gives no version");
  }
  return nccl_library(functions, name, version);
}

std::string nccl_library::version_text() const {
  return fmt::format("{}.{}.{}", version_ / 10000, version_ / 100 % 100, version_ % 100);
}

}  // namespace troupe
