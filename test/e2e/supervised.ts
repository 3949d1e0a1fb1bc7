/** Starts an agent again that Redis did not answer in time, as a supervisor does. Locks of a second leave it half of one. */
export async function supervised<T>(start: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await start();
    } catch (thrown) {
      if (!/gave no answer/.test(String(thrown))) throw thrown;
    }
  }
}
