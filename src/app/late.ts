/**
 * Parts that need each other. A message leads from a platform to a turn, and the turn's answer back to the platform, so one of
 * two such parts is built before the other. It gets a `Late` of the other one and reads it when it works.
 */
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
