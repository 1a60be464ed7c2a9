#pragma once

#include <array>

#include <troupe/error_code.hpp>

/// What the codes 5xx to 8xx mean: the pipeline that was asked for, its run, the bytes between processes, and
/// the journal.
namespace troupe::explanations {

inline constexpr std::array operation = {
    error_explanation{
        error_code::topology_cycle, exit_status::usage, "topology has a cycle",
        "The stages are connected in a circle, so a micro-batch would never arrive. The message lists the nodes "
        "on the circle in order. Take away the edge that leads back."},
    error_explanation{
        error_code::topology_dangling_port, exit_status::usage, "port is not connected",
        "A node of the topology has an input without a sender, or an output without a receiver. Every port "
        "needs an edge, and an input exactly one. Connect the port that the message names, or remove the node."},
    error_explanation{
        error_code::topology_duplicate_name, exit_status::usage, "name is used twice",
        "Two nodes of the topology, or two axes of the process topology, have the same name. Names appear in "
        "errors, reports and filters, so each must be unique. Rename one of them."},
    error_explanation{
        error_code::topology_invalid, exit_status::usage, "topology is not valid",
        "The topology breaks a rule other than those with codes of their own: it has no source or no sink, an "
        "edge names a node that does not exist, or a rank lies outside the grid. The message names the node "
        "and the rule. Correct the description; nothing was started."},
    error_explanation{
        error_code::topology_join_starves, exit_status::usage, "a join can starve",
        "A node that waits for all parts of one micro-batch, or that asks for order, takes them in id order. Behind a "
        "node that takes the outputs of several replicas as they come, a late micro-batch could stand behind ids that "
        "are waited for elsewhere, and the run would stop for ever. Mark the node that the message names as ordered."},
    error_explanation{
        error_code::topology_route_incomplete, exit_status::usage, "a route has no case for every sample",
        "A route sends each sample to the first case that accepts it. Without a last case that takes all others a "
        "sample could match none and would be lost. End the cases with one that has no predicate."},
    error_explanation{
        error_code::partition_no_match, exit_status::usage, "partition pattern matches no layer",
        "type:REGEX balances the layers whose type matches the expression, and no layer does. `troupe inspect "
        "MODEL` lists the types. Correct the expression, or use another partition method."},
    error_explanation{
        error_code::partition_bad_boundaries, exit_status::usage, "partition boundaries are not valid",
        "Explicit boundaries start at 0, grow from one to the next, end at the number of layers, and are one more "
        "than the stages. For 15 layers and 2 stages, 0,4,15 is right. Correct the list in --partition."},
    error_explanation{
        error_code::partition_bad_weights, exit_status::usage, "weights cannot be partitioned",
        "A list of weights must not be empty, and each weight must be a finite number that is not negative. Give "
        "the weights as --layer-weights 1,2,1."},

    error_explanation{
        error_code::internal, exit_status::failure, "internal error",
        "Something happened that no other code describes; the program noticed and stopped in order. It is a fault "
        "of Troupe or of a library below it. Please report it with the full message and the command line."},
    error_explanation{
        error_code::forward_failed, exit_status::failure, "forward pass failed",
        "A stage could not compute a micro-batch, and could not at the second attempt either. The message names "
        "stage, layer, micro-batch and samples, with the cause in LibTorch's words. Evaluate only these samples "
        "to see whether the model or the data is to blame; other calls are not affected."},
    error_explanation{
        error_code::metric_failed, exit_status::failure, "metric could not be computed",
        "The outputs of the last stage do not fit a metric: wrong shape, wrong element type, or labels beyond the "
        "number of classes. The message names metric, micro-batch and sample. Choose metrics that belong to the "
        "model's task."},
    error_explanation{
        error_code::source_failed, exit_status::failure, "data source failed",
        "The source of micro-batches reported an error or threw an exception while a call was running. For a "
        "source of your own, the message carries its words. The call is cancelled and the engine stays usable."},
    error_explanation{
        error_code::deadline_passed, exit_status::deadline, "deadline has passed",
        "The run did not end within the time given with --deadline and was stopped. What is printed covers the "
        "micro-batches that were finished and is labelled partial. Give more time, or fewer samples with "
        "--limit."},
    error_explanation{
        error_code::interrupted, exit_status::interrupted, "interrupted",
        "The run was interrupted from outside, by Ctrl-C or SIGTERM. After the first signal the micro-batches in "
        "flight are finished and the result is printed, labelled partial. A second signal stops at once."},
    error_explanation{
        error_code::call_cancelled, exit_status::failure, "call was cancelled",
        "This call was given up, by request or as another error made it pointless; the first cause stands in the "
        "message. Its micro-batches were dropped and its metrics are not complete. The engine takes further "
        "calls."},
    error_explanation{
        error_code::engine_stopped, exit_status::failure, "engine has stopped",
        "A call was made to an engine that was shut down or has failed for good. Nothing was evaluated. Construct "
        "a new engine, and look at the first error of the old one."},
    error_explanation{
        error_code::stage_unresponsive, exit_status::failure, "stage does not answer",
        "A stage did not answer a request of the control plane within its time limit. A forward pass that takes "
        "very long, a machine out of memory or a frozen process are the usual causes. Use smaller micro-batches "
        "and look at the memory and load of the machine."},
    error_explanation{
        error_code::work_lost, exit_status::work_lost, "work was lost",
        "Micro-batches were lost and could not be evaluated again, so that the result would not count every sample "
        "exactly once. The message gives the first cause and the number of micro-batches. Nothing that is "
        "printed should be taken for the full result; run again."},
    error_explanation{
        error_code::output_unwritable, exit_status::failure, "output cannot be written",
        "The directory or a file of --output, or the file of --log, could not be created or written. "
        "Missing permission "
        "and a full disk are the usual causes. The evaluation itself is not affected; name a place that "
        "can be written. On a node it is the cache of model files that has no room, or is not its user's alone; "
        "TROUPE_CACHE_DIR says where it is."},
    error_explanation{
        error_code::data_exhausted, exit_status::failure, "data ran out",
        "A call asked for more micro-batches than the iterator had left. What came was evaluated and is in the "
        "result, the rest does not exist. Set a new iterator, or ask for fewer micro-batches."},
    error_explanation{
        error_code::queue_full, exit_status::failure, "queue is full",
        "More calls or commands wait than the limit in messages/limits.hpp permits. The new one was refused and the "
        "waiting ones are not affected. Take results of earlier calls before making new ones."},
    error_explanation{
        error_code::process_failed, exit_status::failure, "run or process cannot be started",
        "Before a run starts it takes for a moment what it may hold at the same time: threads, open files, addresses. "
        "The system gave less, and the message names need, supply and limit. Or "
        "it gave no process, pipe, socket or shared memory for a worker later, or the worker ended before it was "
        "ready; then the message has the system's reason, or the worker's exit status and the last lines that it "
        "wrote. Check the limits of processes, open files, file sizes and memory."},
    error_explanation{
        error_code::stage_lost, exit_status::work_lost, "stage was lost",
        "A stage ended in the middle of the run, and nothing could take its place. The message names the stage, its "
        "replica and how it ended. The micro-batches that it held were not evaluated; run again."},
    error_explanation{
        error_code::restarts_spent, exit_status::work_lost, "stage died too often",
        "A stage died again and again without a single micro-batch being finished in between, or far too often in a "
        "short time. Restarting it once more would not help. The message has the cause of the first of these "
        "deaths. If the deaths all fell on one micro-batch, it names that one: its samples make the stage die."},
    error_explanation{
        error_code::worker_mismatch, exit_status::failure, "worker runs another topology or file",
        "A worker process is the same program with the same arguments as its driver, and describes the same stages. "
        "This one described others: the model or configuration file changed during the run, the program builds its "
        "topology from something that is not the same in both (time, random numbers, process ids), or a node has "
        "another program or another file under that name. The message names the node and the file."},
    error_explanation{
        error_code::node_lost, exit_status::work_lost, "node was lost",
        "A node of a launch never joined, or its agent ended or was silent for longer than --worker-timeout, and no "
        "slot was left for its stages. The message names the node and what was seen of it last. Where it has "
        "another code, the agent of the node has told it, and the fix is that one's. Look at that node and at the "
        "network; give the launch spare slots, or --allow-shrink to use those that are taken."},
    error_explanation{
        error_code::gradient_not_finite, exit_status::failure, "gradient is not finite",
        "The loss or a gradient of a training step has infinity or NaN, so the step was not applied and the weights "
        "are "
        "those before it. The message has step, stage, layer and micro-batch. A learning rate that is too high and "
        "samples that are not finite themselves are the usual causes."},
    error_explanation{error_code::training_state_lost, exit_status::failure, "weights of a training step were lost",
                      "A stage was started again and has neither the weights that its step began with nor a copy of "
                      "them, as when the node is lost that had them. Load the last checkpoint into a new engine. "
                      "training_options::protect (--protect) makes copies, from which a training goes on by itself."},
    error_explanation{
        error_code::replicas_differ, exit_status::failure, "replicas of a stage differ",
        "The replicas of a stage have the same weights and make the same gradient, bit for bit. In this "
        "training step one of them had other bits, so the step was not applied. Its memory or processor "
        "is damaged, or the hosts have different processors or libraries, which add in another order. "
        "Load the last checkpoint into a new engine, without that host; of two replicas the message cannot say "
        "which one is wrong."},

    error_explanation{
        error_code::wire_too_large, exit_status::failure, "message is too large",
        "A message between processes, or a string or list in it, is larger than the limit in messages/limits.hpp. "
        "It was refused before memory was allocated. A damaged stream or a foreign program on the port is more "
        "likely than a real message of that size."},
    error_explanation{
        error_code::wire_malformed, exit_status::failure, "message is malformed",
        "The bytes of a message between processes do not have the form that docs/messages.md describes: cut short, "
        "of a wrong type, with too many or too few fields, or followed by more bytes. The message says what was "
        "expected at which offset. Check that both ends run the same version of Troupe."},
    error_explanation{
        error_code::wire_wrong_version, exit_status::failure, "message has another wire version",
        "The other end speaks another version of the wire format. All processes of a run must come from the same "
        "release. Install the same version everywhere."},
    error_explanation{
        error_code::wire_too_deep, exit_status::failure, "message is nested too deeply",
        "Lists inside lists go deeper than any message of Troupe does. The message was refused, as reading it could "
        "exhaust the stack. The sender is no Troupe, or the stream is damaged."},
    error_explanation{
        error_code::wire_unknown_kind, exit_status::failure, "message of unknown kind",
        "The envelope is in order, but its kind is none that this version knows, or not the one expected here. "
        "Check that both ends run the same version of Troupe."},
    error_explanation{
        error_code::wire_checksum, exit_status::failure, "checksum does not match",
        "Bytes between two processes arrived changed: their CRC32C is not the one that was sent with them. The "
        "connection is given up, as nothing after it can be trusted. Check the network, its cables and the memory of "
        "both machines."},
    error_explanation{
        error_code::wire_handshake, exit_status::failure, "peer was refused",
        "The process that connected is not the peer that was expected: it does not prove to know the run's secret, "
        "shows no certificate of this run, or another edge or incarnation. Nothing was accepted from it. A foreign "
        "program on the port, or a process "
        "left over from an earlier run, is the usual cause."},
    error_explanation{
        error_code::peer_lost, exit_status::failure, "connection to the peer was lost",
        "The other end of an edge closed its connection, or sent nothing for longer than the time that is allowed. "
        "Its process has died or is frozen, or the network between the two is broken. The message names the edge."},

    error_explanation{
        error_code::journal_mismatch, exit_status::bad_input, "journal belongs to another run",
        "A run can be resumed only with the model, data, micro-batch size, threads, optimisation, metrics, LibTorch "
        "and "
        "processor that it was started with: anything else would give other bits. The message names what differs. "
        "Use the same, or start anew with another journal. Threads that are not asked for are the journal's."},
    error_explanation{
        error_code::journal_damaged, exit_status::bad_input, "journal is damaged",
        "A record in the middle of the journal does not match its checksum, or is of a kind that this version does not "
        "know. (A last record that is cut short is the normal end of a crashed run and is dropped.) Start anew with "
        "another journal."},
    error_explanation{
        error_code::journal_unwritable, exit_status::failure, "journal cannot be written",
        "The journal could not be created or extended, or exists already and --resume was not given. Missing "
        "permission, a full disk and another run that holds it are the usual causes. Name another file."},
    error_explanation{
        error_code::journal_missing, exit_status::bad_input, "journal does not exist",
        "--resume was given, but there is no journal of that name. Check the path, or start without --resume."},

    error_explanation{
        error_code::library_unusable, exit_status::failure, "library cannot be loaded",
        "A library that is loaded at run time, such as the CUDA driver or NCCL, is missing, is no library, or lacks a "
        "function that its version should have. The message has the name that was searched for and the loader's words. "
        "Install it, or put its folder into LD_LIBRARY_PATH."},
    error_explanation{
        error_code::device_failed, exit_status::failure, "device failed",
        "A device, its driver or its library for messages gave an error while it was in use. The message has the call "
        "that failed and the library's own words. Out of memory and a device that fell off the bus are the usual "
        "causes."},
};

}  // namespace troupe::explanations
