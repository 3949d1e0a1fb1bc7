/** Parts that need each other: one of two is built first, gets a `Late` of the other, and reads it when it works. */
export interface Late<Part> {
  /** Throws before the part is built: that is a mistake in the order of the builders. */
  get(): Part;
  set(part: Part): void;
}

export function createLate<Part>(name: string): Late<Part> {
  let built: { part: Part } | undefined;
  return {
    get() {
      if (built === undefined) throw new Error(`The part "${name}" is used before it is built`);
      return built.part;
    },
    set(part) {
      built = { part };
    },
  };
}
