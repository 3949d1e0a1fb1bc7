import type { Events, RemoraEvent } from "../ports/events.ts";

export function createEvents(onListenerError: (thrown: unknown) => void = () => {}): Events {
  const listeners = new Set<(event: RemoraEvent) => void>();
  return {
    emit(name, fields) {
      const event = { name, at: Date.now(), fields } as RemoraEvent;
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (thrown) {
          onListenerError(thrown);
        }
      }
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
