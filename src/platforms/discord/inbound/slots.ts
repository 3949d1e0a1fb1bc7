/** Lets a few places at a time be read, so that answers are not behind hundreds of requests. */

export interface Slots {
  /** Resolves to the function that frees the slot. */
  take(name: string): Promise<() => void>;
  /** Lets the name in at once, because somebody waits for it. */
  hurry(name: string): void;
}

export function createSlots(max: number): Slots {
  const waiting = new Map<string, () => void>();
  let taken = 0;

  function letIn(name: string | undefined): void {
    const enter = name === undefined ? undefined : waiting.get(name);
    if (name === undefined || enter === undefined) return;
    waiting.delete(name);
    taken += 1;
    enter();
  }

  return {
    async take(name) {
      const entered = new Promise<void>((resolve) => waiting.set(name, resolve));
      if (taken < max) letIn(name);
      await entered;
      return () => {
        taken -= 1;
        const [next] = waiting.keys();
        if (taken < max) letIn(next);
      };
    },
    hurry: letIn,
  };
}
