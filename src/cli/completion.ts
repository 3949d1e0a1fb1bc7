/** Writes completion scripts for bash, zsh and fish from the tree of commands, so that no command can be forgotten. */
import type { Command } from "commander";

export type Shell = "bash" | "zsh" | "fish";

interface Place {
  /** Such as `skills add`; empty for the program. */
  path: string;
  words: { word: string; description: string }[];
}

export function completionCommand(shell: Shell, program: Command): void {
  process.stdout.write(completionScript(shell, program));
}

export function completionScript(shell: Shell, program: Command): string {
  const places = placesOf(program, "");
  return { bash, zsh, fish }[shell](places);
}

function placesOf(command: Command, path: string): Place[] {
  const commands = command.commands.map((one) => ({ word: one.name(), description: one.description() }));
  const options = command.options.flatMap(({ long, description }) =>
    long === undefined || long === null ? [] : [{ word: long, description }],
  );
  const help = { word: "--help", description: "show help" };
  return [
    { path, words: [...commands, ...options, help] },
    ...command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim())),
  ];
}

function words({ words: all }: Place): string {
  return all.map(({ word }) => word).join(" ");
}

/** The words that lead to a command, as `case` patterns. */
function steps(places: readonly Place[]): string[] {
  return places.filter(({ path }) => path !== "").map(({ path }) => (path.includes(" ") ? path : ` ${path}`));
}

function bash(places: readonly Place[]): string {
  return `# In ~/.bashrc: source <(remora completion bash)
_remora() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="" known="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${steps(places).map(quoted).join(" | ")}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${places.map((place) => `    ${quoted(place.path)}) known=${quoted(words(place))} ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$known" -- "$current"))
}
complete -o default -F _remora remora
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef remora
# In ~/.zshrc, after compinit: source <(remora completion zsh)
_remora() {
  local at="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${steps(places).map(quoted).join("|")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${places.map((place) => `    (${quoted(place.path)}) compadd -- ${words(place)} ;;`).join("\n")}
  esac
  _files
}
compdef _remora remora
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap((place) =>
    place.words.map(({ word, description }) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${quoted(word)}`;
      return `complete -c remora -n ${quoted(`__remora_at "${place.path}"`)} ${what} -d ${quoted(description)}`;
    }),
  );
  return `# In ~/.config/fish/config.fish: remora completion fish | source
function __remora_at
  set -l at ""
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${steps(places).map(quoted).join(" ")}
        set at (string trim -- "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join("\n")}
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
