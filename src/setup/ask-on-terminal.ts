/** Asks on a terminal, with @clack/prompts. */
import type { Readable, Writable } from "node:stream";
import * as clack from "@clack/prompts";
import { type Ask, SetupCancelled } from "./ask.ts";

export function askOnTerminal(streams: { input: Readable; output: Writable }): Ask {
  async function answer<Value>(given: Promise<Value | typeof clack.CANCEL_SYMBOL>): Promise<Value> {
    const value = await given;
    if (clack.isCancel(value)) throw new SetupCancelled();
    return value;
  }
  const log = (text: string, symbol: string) => clack.log.message(text, { output: streams.output, symbol });

  return {
    isInteractive: true,
    select: ({ message, choices, initial }) => {
      const options = choices.map(({ value, label, hint }) => ({
        value,
        label,
        ...(hint === undefined ? {} : { hint }),
      }));
      type Options = Parameters<typeof clack.select<(typeof choices)[number]["value"]>>[0];
      const given = { ...streams, message, options, ...(initial === undefined ? {} : { initialValue: initial }) };
      return answer(clack.select(given as unknown as Options));
    },
    several: ({ message, choices, initial }) => {
      const options = choices.map(({ value, label, hint }) => ({
        value,
        label,
        ...(hint === undefined ? {} : { hint }),
      }));
      return answer(
        clack.autocompleteMultiselect({
          ...streams,
          output: withSingular(streams.output),
          message,
          options,
          initialValues: [...initial],
          maxItems: 10,
          required: true,
        }),
      );
    },
    text: async ({ message, initial, problemOf }) => {
      const given = await answer(
        clack.text({
          ...streams,
          message,
          placeholder: initial,
          defaultValue: initial,
          validate: (value) => problemOf?.((value ?? "").trim() || initial),
        }),
      );
      return given.trim() || initial;
    },
    secret: async ({ message }) => (await answer(clack.password({ ...streams, message, mask: "•" }))) ?? "",
    confirm: ({ message, initial }) => answer(clack.confirm({ ...streams, message, initialValue: initial })),
    title: (text) => clack.intro(text, streams),
    say: (text) => log(text, clack.S_BAR),
    done: (text) => clack.log.success(text, streams),
    warn: (text) => clack.log.warn(text, streams),
    link(label, url) {
      log(label, clack.S_BAR);
      streams.output.write(`\n${url}\n\n`);
    },
    // No spinner: clack's ends the whole process on Ctrl+C, and a child process could be left behind.
    during(doing, work) {
      log(`${doing} …`, clack.S_BAR);
      return work();
    },
    end: (text) => clack.outro(text, streams),
  };
}

/** The library writes "1 items selected". */
function withSingular(output: Writable): Writable {
  const write = (text: unknown) =>
    output.write(typeof text === "string" ? text.replace(/(?<!\d)1 items selected/, "1 item selected") : text);
  return new Proxy(output, {
    get: (target, name) => (name === "write" ? write : Reflect.get(target, name, target)),
  });
}
