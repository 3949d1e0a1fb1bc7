/** For two parts that need each other: the one that is built first gets a `Late` of the second. */
export interface Late<Part> {
  /** Throws if the part is not built yet, which means that the builders run in the wrong order. */
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
