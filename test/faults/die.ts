/** Ends the process as by `kill -9`: no handler and no further event loop turn runs. */
export function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
