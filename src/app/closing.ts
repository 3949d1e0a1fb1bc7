/** Closes the added parts once, in reverse order. */
export interface Closing {
  add<Part extends { close(): Promise<void> }>(part: Part): Part;
  /** Closes every part even if one fails, then throws the first failure. */
  run(): Promise<void>;
}

export function createClosing(): Closing {
  const parts: { close(): Promise<void> }[] = [];
  let running: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const part of parts.toReversed()) await part.close().catch((thrown: unknown) => failures.push(thrown));
    if (failures.length > 0) throw failures[0];
  }

  return {
    add(part) {
      parts.push(part);
      return part;
    },
    run: () => (running ??= closeAll()),
  };
}
