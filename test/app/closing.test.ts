import { expect, test } from "vitest";
import { createClosing } from "../../src/app/closing.ts";

function openParts(names: string[], failing: string[] = []) {
  const closed: string[] = [];
  const closing = createClosing();
  for (const name of names)
    closing.add({
      async close() {
        closed.push(name);
        if (failing.includes(name)) throw new Error(`${name} can't close`);
      },
    });
  return { closing, closed };
}

test("parts close in reverse order, once", async () => {
  const { closing, closed } = openParts(["state", "tools", "web"]);
  await Promise.all([closing.run(), closing.run()]);
  await closing.run();
  expect(closed).toEqual(["web", "tools", "state"]);
});

test("a part that fails to close keeps no other part open", async () => {
  const { closing, closed } = openParts(["state", "tools", "web"], ["web", "tools"]);
  await expect(closing.run()).rejects.toThrow("web can't close");
  expect(closed).toEqual(["web", "tools", "state"]);
});
