/**
 * A program on a real terminal (a pty, by Debian's `script`), and the keys that a person presses.
 *
 *   const terminal = openTerminal([process.execPath, "src/remora.mjs", "init"], { cwd, env });
 *   await terminal.shows("Which model answers?");
 *   terminal.press(keys.down, keys.enter);
 *
 * Text is searched after what the last `shows` has found, so that an old question never counts as a new one.
 */
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

export const keys = { enter: "\r", down: "\u001B[B", up: "\u001B[A", space: " ", ctrlC: "\u0003" } as const;

export interface Terminal {
  /** All that was printed, without colours and cursor movements. */
  printed(): string;
  /** Resolves when the text is printed. Rejects with all that was printed if the program ends or `timeoutMs` is over. */
  shows(text: string): Promise<void>;
  press(...typed: string[]): void;
  /** The program's exit code. */
  exited: Promise<number | null>;
  kill(): void;
}

export function openTerminal(
  words: readonly string[],
  options: { cwd: string; env: Record<string, string>; timeoutMs: number },
): Terminal {
  // The size is set inside, because a terminal without a window is 0 columns wide.
  const command = `stty cols 120 rows 50; exec ${words.map(quoted).join(" ")}`;
  const child = spawn("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {
    cwd: options.cwd,
    env: { ...options.env, SHELL: "/bin/sh", TERM: "xterm-256color" },
  });
  let raw = "";
  let found = 0;
  let isOver = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (raw += text));
  const exited = new Promise<number | null>((done) => {
    child.once("exit", (code) => done(code));
    child.once("error", (thrown) => {
      raw += thrown.message;
      done(null);
    });
  });
  void exited.then(() => (isOver = true));
  let stripped = { raw: "", text: "" };
  const printed = () => {
    if (stripped.raw !== raw) stripped = { raw, text: stripVTControlCharacters(raw).replaceAll("\r", "") };
    return stripped.text;
  };

  return {
    printed,
    exited,
    async shows(text) {
      for (const deadline = Date.now() + options.timeoutMs; ; ) {
        const wasOver = isOver;
        const at = printed().indexOf(text, found);
        if (at >= 0) {
          found = at + text.length;
          return;
        }
        if (wasOver || Date.now() > deadline)
          throw new Error(`The terminal does not show “${text}” after this:\n${printed()}`);
        await new Promise((done) => setTimeout(done, 20));
      }
    },
    press: (...typed) => void child.stdin.write(typed.join("")),
    kill: () => void child.kill("SIGKILL"),
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
