#pragma once

namespace troupe {

/// Sends what models print to standard error, each print in one write and at once: standard output is for results, and
/// a worker that is ended has lost what it buffered. From the first call on, for the whole process; a print handler
/// that a program sets later is kept. Any thread.
void send_model_output_to_stderr();

}  // namespace troupe
