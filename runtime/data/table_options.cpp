#include "runtime/data/table_options.hpp"

namespace troupe {

expected<csv_form> read_csv_form(const data_request& request) {
  csv_form form{.has_header = request.options.text(header_option.name) != "no"};
  const auto separator = request.options.text(separator_option.name);
  if (!separator) return form;
  form.is_separator_given = true;
  form.separator = *separator == "tab" ? '\t' : separator->front();
  const bool is_one =
      *separator == "tab" || (separator->size() == 1 && static_cast<unsigned char>(form.separator) < 0x80);
  if (is_one && form.separator != '"' && form.separator != '\n' && form.separator != '\r') return form;
  return fail(error_code::value_out_of_range, request.specification,
              "separator: expected one character of ASCII that is no quote and no line end, or the word tab, found \"" +
                  *separator + "\"",
              "write for example separator=\";\" or separator=tab");
}

}  // namespace troupe
