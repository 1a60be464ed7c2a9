#include "beside.hpp"

#include <unistd.h>

#include "runtime/launcher/shell_words.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe::cli {

tl::unexpected<error> become(const std::string& name, arguments words) {
  const std::string program = own_directory() + "/" + name;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  return fail(error_code::process_failed, program, errno_text(), "Install " + name + " beside the program troupe");
}

}  // namespace troupe::cli
