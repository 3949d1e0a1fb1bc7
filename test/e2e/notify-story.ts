/** The story of a card that finds the people who can answer it, told on each chat service with the real process. */
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";

export interface Seen {
  id: string;
  text: string;
  /** Names of the people and roles who were notified when it was posted. */
  pings: string[];
  buttons: string[];
  /** `thread`, or the name of the person whose direct message it is. */
  place: string;
}

export interface Asked {
  thread(): Seen[];
}

/** Ann and Ben are in the channel. Cara and Dora are not. Ben has the role. */
export interface NotifyDriver {
  env(): Record<string, string>;
  approver(name: string): string;
  role: string;
  connect(): Promise<void>;
  close(): Promise<void>;
  until<T>(find: () => T | undefined | false): Promise<T>;
  ask(text: string): Promise<Asked>;
  dm(name: string): Seen[];
  click(name: string, on: Seen, button: string): Promise<void>;
}

const isCard = ({ buttons }: Seen) => buttons.includes("Approve");
const killPoints = resolve(import.meta.dirname, "../faults/kill-points.ts");

export function tellNotifications(service: string, createDriver: () => Promise<NotifyDriver>): void {
  describe(`notifications through ${service}`, () => {
    let driver: NotifyDriver;
    let home: RemoraHome;
    let remora: RemoraProcess;
    let number = 0;

    async function start(safety: Record<string, unknown> = {}, env: Record<string, string> = {}): Promise<void> {
      const config = join(home.data, "..", `config-${number++}.json`);
      await writeFile(config, JSON.stringify({ safety }));
      remora = await startRemora(home, { ...driver.env(), REMORA_CONFIG: config, ...env });
      await driver.connect();
    }

    beforeAll(async () => {
      [driver, home] = await Promise.all([createDriver(), createHome()]);
    });
    afterAll(async () => {
      await remora?.kill();
      await driver.close();
      await home.remove();
    });

    const cardIn = (asked: Asked) => driver.until(() => asked.thread().find(isCard));
    const settledIn = (place: () => Seen[], { id }: Seen) =>
      driver.until(() => place().find((each) => each.id === id && !isCard(each)));
    const pingsIn = (asked: Asked, ...names: string[]) => [
      ...asked.thread().flatMap(({ pings }) => pings),
      ...names.flatMap((name) => driver.dm(name).flatMap(({ pings }) => pings)),
    ];
    const answerIn = (asked: Asked, words: string) =>
      driver.until(() => asked.thread().find(({ text }) => text.includes(words)));

    test("an approver in the channel is mentioned once; one outside gets the card, and an answer there counts everywhere", async () => {
      await start({ approvers: [driver.approver("ben"), driver.approver("cara")] });
      const asked = await driver.ask("run echo ran >> once.txt && echo finished with network example.com");
      const card = await cardIn(asked);
      expect(card.pings).toEqual(["ben"]);
      const copy = await driver.until(() => driver.dm("cara").find(isCard));
      expect(copy.text).toContain("Ann asks for your answer in #general");
      expect(copy.text).toContain("echo ran >> once.txt");
      await driver.click("cara", copy, "Approve");
      await answerIn(asked, "finished");
      await settledIn(() => asked.thread(), card);
      const settled = await settledIn(() => driver.dm("cara"), copy);
      expect(settled.text).toContain("Cara");
      expect(pingsIn(asked, "cara", "ben")).toEqual(["ben"]);
    });
  });
}

export { killPoints };
