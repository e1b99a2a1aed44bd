// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

namespace strata::vendor {

template <>
void begin_capture(runtime::Exec const& exec) {
  STRATA_RUNTIME_CALL(StreamBeginCapture, runtime::stream_of(exec),
                      STRATA_RUNTIME(StreamCaptureModeRelaxed));
}

template <>
std::shared_ptr<void> end_capture(runtime::Exec const& exec) {
  runtime::Graph graph = nullptr;
  runtime::GraphExec executable = nullptr;
  runtime::Status status = STRATA_RUNTIME(StreamEndCapture)(runtime::stream_of(exec), &graph);
  if (status != STRATA_RUNTIME(Success))
    (void)STRATA_RUNTIME(GetLastError)();  // which Kokkos takes for its next kernel's
  runtime::check(status, STRATA_RUNTIME_TEXT(StreamEndCapture));
  status = STRATA_RUNTIME(GraphInstantiateWithFlags)(&executable, graph, 0);
  (void)STRATA_RUNTIME(GraphDestroy)(graph);
  runtime::check(status, STRATA_RUNTIME_TEXT(GraphInstantiateWithFlags));
  return {executable, [](void* owned) {
            (void)STRATA_RUNTIME(GraphExecDestroy)(static_cast<runtime::GraphExec>(owned));
          }};
}

template <>
void replay(runtime::Exec const& exec, void* captured) {
  STRATA_RUNTIME_CALL(GraphLaunch, static_cast<runtime::GraphExec>(captured),
                      runtime::stream_of(exec));
}

template <>
bool is_captured(runtime::Exec const& exec) {
  STRATA_RUNTIME(StreamCaptureStatus) status = STRATA_RUNTIME(StreamCaptureStatusNone);
  STRATA_RUNTIME_CALL(StreamIsCapturing, runtime::stream_of(exec), &status);
  return status != STRATA_RUNTIME(StreamCaptureStatusNone);
}

}  // namespace strata::vendor
