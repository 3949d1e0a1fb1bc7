/** Words that other programs have as commands, and what does the same here. */
const doctor = "doctor says whether Remora runs and what does not work; in a chat, /remora status says what it does";
const stop = "Ctrl+C stops what start has started, and systemctl --user stop remora the service";
const restart = "stop Remora with Ctrl+C and start it again; systemctl --user restart remora does it for the service";
const init = "init sets up the model, Slack and Discord";
const start = "start runs the agent and prints the address of its page";

const hints = new Map(
  Object.entries({
    ...{ status: doctor, state: doctor, health: doctor, check: doctor, info: doctor, ps: doctor },
    ...{ stop, quit: stop, kill: stop, restart, reload: restart },
    ...{ setup: init, configure: init, login: init },
    ...{ run: start, serve: start, open: start, page: start, dashboard: start, chat: start },
    version: "--version prints it",
    update: "upgrade installs a newer version",
    install: "service install runs Remora as a service; skills add adds a skill",
    uninstall: "service uninstall removes the service; skills remove removes a skill",
  }),
);

export function hintFor(word: string): string | undefined {
  return hints.get(word.toLowerCase());
}
