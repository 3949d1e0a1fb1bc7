/**
 * The one list of files that git, editors, agents, CI, package managers, build tools and shells run or obey by themselves,
 * outside the sandbox. It goes by kind, so that an unknown name is caught too: everything with a dot that is not known to be
 * harmless, and whatever ends like a configuration that is code. Takes linear time, because drafts may be huge.
 */
import { sep } from "node:path";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Effect, Effects } from "../effects/effect.ts";
import type { RawPath } from "../effects/raw-path.ts";
import { findAutorunTargets, realPathOf } from "./autorun-targets.ts";
import { createGitFolders, gitHooks, isGitPath, readings, runsInGitFolder } from "./git-folders.ts";

/** True of everything in the list. Nothing that shows it shortens it. */
export const autorunWarning = "can run by itself outside the sandbox";
export const autorunFolderWarning = "has files that can run by themselves outside the sandbox";

/** In these patterns, `.yml` is also `.yaml`, `.js` any kind of JavaScript or TypeScript, and `.json` also `.jsonc` and `.json5`. */
const harmlessDotNames = patterns(`
  .gitkeep .keep .mailmap .git-blame-ignore-revs .*ignore .editorconfig .nojekyll .ds_store .env.example .env.sample
  .env.template .env.dist .nvmrc .node-version .python-version .ruby-version .java-version .clang-format .rustfmt.toml
  .yamllint .shellcheckrc .codespellrc .hadolint.yml .well-known`);
/** What people read on the site of a service, in the folders that otherwise hold its CI, bots and agents. */
const serviceFolders = patterns(".github .gitlab .gitea .forgejo");
const harmlessInServiceFolders = patterns(`
  issue_template issue_templates discussion_template pull_request_template merge_request_templates issue_template.md
  pull_request_template.md merge_request_template.md codeowners funding.yml security.md contributing.md code_of_conduct.md
  support.md readme.md governance.md`);

const autorunFolders = patterns(`
  node_modules site-packages dist-packages __pycache__ *.egg-info *.dist-info *.xcodeproj *.xcworkspace *.playground *.app
  githooks git-hooks git_hooks cron.* systemd autostart launchagents launchdaemons quadlet portage ci_scripts site-lisp`);
/** What is directly in them has no ending by which to know it. */
const foldersOfPrograms = patterns("debian meta-inf/services");
const harmlessInProgramFolders = patterns("changelog copyright readme todo news *.md *.txt *.docs *.manpages *.1");

/** Agents load these as instructions, and tools these lists, so they count although other documents are harmless. */
const documents = patterns(`
  knowledge.md agent.md agents.md agents.*.md claude.md claude.*.md gemini.md gemini.*.md codex.md qwen.md warp.md crush.md opencode.md
  replit.md iflow.md codebuddy.md copilot-instructions.md skill.md *.instructions.md *.prompt.md *.chatmode.md *.agent.md
  requirements.txt requirements[-_.]*.txt constraints*.txt cmakelists.txt conanfile.txt meson_options.txt *[-_]requirements.txt compile_flags.txt`);
const programs = patterns(`
  mcp.json mcp.yml mcp.toml mcp[-_.]*.json *[-_.]mcp.json mcp_servers.* claude_desktop_config.json opencode.json crush.json
  gemini-extension.json hooks.json *.mdc

  *.code-workspace *.code-profile *.sublime-project *.sublime-workspace *.sublime-build *.sln *.slnx *.suo *.*proj *.props
  *.targets *.xcscheme *.xcconfig *.run.xml *.iml *.ipr *.iws *.godot *.pro *.pri *.qbs compile_commands.json rust-analyzer.toml
  session.vim init.vim init.lua init.el early-init.el

  *pipeline.yml *pipelines.yml *pipeline[-_.]*.yml *pipelines[-_.]*.yml ci.yml ci[-_.]*.yml *[-_.]ci.yml *[-_.]ci[-_.]*.yml
  *workflow.yml *workflows.yml *appveyor*.yml *travis*.yml *cloudbuild*.yml *cloudbuild*.json *buildspec*.yml
  *codefresh*.yml *codeship*.yml *drone*.yml *semaphore*.yml *teamcity*.yml *buildkite*.yml *woodpecker*.yml codemagic.yml
  bitrise.yml wercker.yml circle.yml screwdriver.yml buddy.yml shippable.yml cirrus.yml zuul.yml action.yml dependabot.yml
  mergify.yml jenkins*.yml tekton*.yml concourse*.yml spacelift.yml atlantis.yml argo*.yml snapcraft.yml flatpak.yml
  renovate*.json release-please*.json dockerrun.aws.json vercel.json now.json netlify.toml render.yml fly.toml fly.*.toml
  amplify.yml heroku.yml railway.json railway.toml nixpacks.toml wrangler.json wrangler.toml firebase.json serverless*.yml
  samconfig.toml skaffold*.yml dagger.json garden.yml werf.yml okteto.yml devspace.yml

  package.json package.yml npm-shrinkwrap.json *-lock.json *-lock.yml *.lock *.lock.json *.lockb *.lockfile bower.json
  lerna.json nx.json turbo.json rush.json project.json workspace.json moon.yml pnpm-workspace.yml bunfig.toml deno.json
  jsr.json import_map.json setup.py setup.cfg pyproject.toml requirements*.in environment*.yml conda*.yml pixi.toml uv.toml
  poetry.toml hatch.toml pdm.toml build.rs cargo*.toml rust-toolchain rust-toolchain.toml cross.toml go.mod go.work
  *.gemspec *.podspec composer.json *.nuspec packages.config paket.* global.json directory.build.* directory.packages.*
  package.swift project.clj deps.edn bb.edn shadow-cljs.edn *.exs rebar.* *.opam dune dune-* esy.json stack.yml
  cabal.project* *.cabal setup.hs shard.yml build.zig build.zig.zon pubspec*.yml melos.yml *.nimble *.nims *.rockspec
  dub.json dub.sdl elm.json gleam.toml rescript.json bsconfig.json spago.* packages.dhall vcpkg*.json project.toml
  manifest.toml scarb.toml move.toml nargo.toml anchor.toml foundry.toml alire.toml fpm.toml xmake.lua premake*.lua
  haxelib.json cpanfile cpanfile.* *.psd1 build.pl hatch_build.py *.versions.toml pip.conf pkgbuild apkbuild eas.json
  app.json electron-builder.* extconf.rb pom.xml pom.*.xml build.xml ivy.xml *.gradle *.gradle.kts gradle*.properties
  gradle-wrapper.* maven-wrapper.* gradlew gradlew.bat mvnw mvnw.cmd *.sbt build.sc build.mill build.boot

  *.mk *.mak *.make *.ninja *.cmake cmake*presets.json kbuild kbuild.* kconfig kconfig.* configure configure.ac configure.in
  *.m4 autogen.sh config.status wscript wscript_* waf sconstruct sconscript meson.build meson.options build buck workspace
  *.bazel *.bzl *.star *compose.yml *compose[-_.]*.yml compose.json docker-bake.* *.rake *.just pavement.py dodo.py tox.ini
  pytest.ini mypy.ini uwsgi.ini circus.ini conftest.py conf.py *.conf.* *.config *.config.* *.setup.js setuptests.js
  setupproxy.js *.workspace.js *.preset.js webpack.*.js rollup.*.js vite.*.js phpunit.xml phpunit.xml.dist phpstan*.neon
  rector.php artisan phing.xml robo.php *.spec config.ru ormconfig.* *.bzlmod rc.lua ember-cli-build.js gatsby-*.js
  wallaby.js angular.json nodemon.json cypress.json *lintrc.* babelrc.* cdk.json pulumi*.yml helmfile*.yml ansible.cfg *.tf
  *.tf.json *.tofu terragrunt.hcl *.pkr.hcl *.nix devbox.json devenv.yml mise*.toml guix.scm platformio.ini mkdocs.yml
  _config.yml book.toml typedoc.json jsdoc.json dvc.yml dbt_project.yml lefthook*.yml captainhook.json grumphp.yml
  pre-commit*.yml devcontainer*.json devfile.yml gitpod.yml jupyter*config.py ipython*config.py

  profile bash_profile bash_login bash_logout zshenv zprofile zlogin zlogout crontab crontab.* *.crontab *.cron *.service
  *.timer *.socket *.mount *.automount *.desktop autorun.inf desktop.ini *.lnk *.scf *.reg *.url *.command *.workflow
  rc.local inittab sudoers authorized_keys supervisord.conf *profile.ps1 config.fish startup.jl *-gdb.py *-gdb.scm
  sitecustomize.* usercustomize.* *.pth

  *.gyp *.gypi gems.rb gems.locked *.csproj.* *.vcxproj.* *.pro.* *.user *.tt user.clj makevars makevars.* *.rules
  *.container *.kube *.network *.nspawn *.path *.slice *.preset *.link *.netdev *.swap *.opts *.dcl *.uproject *.uplugin
  ld.so.preload ld.so.conf gitconfig bash_aliases xinitrc xsession xprofile tmux.conf ssh_config sshd_config postbuild
  launchsettings.json *.theme *.hta *.library-ms *.webloc *.terminal *.plist *.ebuild *.install postinst preinst postrm prerm
  *.entitlements *.pbxproj *.ps1xml *.cake data_readers.clj *.pubxml *.cbp *.geany *.kdev4 *.exe.* overcommit.yml
  celeryconfig.py kustomization.yml chart.yml hie.yml`);
/** At the root, a tool that nobody knows may take its settings from them. What holds data has another name or place. */
const settingsOfUnknownTools = /^[\w-]+\.(toml|yml|json|xml|ini|cfg|conf|edn|neon|lua|vim|el|fish|properties)$/;
const dataAtRoot =
  /^(data|config|output|out|results?|reports?|summary|stats|metrics|translations?|messages|users?|items?|products?|orders?|prices?|sales|inventory_?data|notes?|list|lists|entries|records|events|feeds?|sitemap|rss|atom|openapi|swagger|schema|manifest\.webapp|example|sample|test|tests|budget|input|values|index|response|request|export|import|backup|contacts|people|customers|questions|answers|log|logs|todo|tasks-?data)([-_.\d][\w-]*)?\.(yml|json|xml|toml|ini|csv)$/;
/** Agents read unknown ones at the root as instructions, and people these. */
const instructions = /^[A-Z][A-Z_-]+(?:\.[a-z]+)?\.md$/;
const knownDocuments = patterns(`
  readme* changelog* changes* license* licence* copying* contributing* contributors* code_of_conduct* code-of-conduct* security*
  authors* notice* todo* history* upgrade* upgrading* install* faq* news* releases* release_notes* roadmap* governance*
  maintainers* support* credits* thanks* acknowledg* migration* migrating* usage* guide* architecture* design* development* hacking*
  overview* summary* report* notes* index* docs* about* glossary* setup* getting* style* testing* building* deploy* troubleshooting* api* spec*
  privacy* terms* third* patents* citation* pull_request_template* issue_template* plan* ideas* journal* meeting*`);
/** What `npm start` and others run where no manifest says otherwise. */
const startedByTools = /^(server|start)\.js$/;
/** Alone, as the beginning of a name, and as its ending: `Dockerfile`, `Dockerfile.test`, `test.dockerfile`. */
const rules =
  "(app|berks|brew|cake|cap|cart|conan|container|danger|docker|earth|fab|fast|gem|gnumake|bsdmake|grunt|guard|gulp|jake|" +
  "jenkins|just|knex|mage|make|model|nox|pip|pnpm|pod|proc|psake|puppet|rake|robo|snake|task|thor|tilt|tup|vagrant)file";
const ruleFile = new RegExp(`^${rules}([-_.].*)?$|\\.${rules}$`);
/** Of unknown tools. */
const unknownRuleFile = /^[A-Z][A-Za-z]+file$/;
const unknownManifest = /^[A-Z][a-z]+\.toml$/;
/** `src` and `arc` are no settings. */
const settingsFile = /^(?!src$|arc$)[\w-]*rc$/;
const settingsAtRoot =
  /^(?!src\.|arc\.)[\w-]*rc\.(js|json|yml|toml)$|^[\w-]+[-_]config\.js$|^(tasks|build)\.(js|py)$|^esbuild\.js$/;
/** Windows has such a second name for every long one. */
const shortName = /^[^.~]{1,6}~\d(\.[^.]{1,3})?$/;
const documentEnding = /\.(md|mdx|rst|adoc|txt|html?|css|s[ac]ss|less|svg|csv|tsv)$/;
/** At the root: where a prompt runs, a file takes the place of a module or program with its name. */
const shadowingModule = patterns(`
  abc.py argparse.py ast.py asyncio.py base64.py bisect.py calendar.py codecs.py collections.py copy.py csv.py ctypes.py
  dataclasses.py datetime.py decimal.py difflib.py email.py encodings.py enum.py fnmatch.py functools.py getpass.py glob.py
  gzip.py hashlib.py heapq.py hmac.py html.py http.py importlib.py inspect.py io.py ipaddress.py itertools.py json.py
  keyword.py linecache.py locale.py logging.py math.py mimetypes.py multiprocessing.py numbers.py operator.py os.py
  pathlib.py pickle.py pip.py platform.py posixpath.py pprint.py queue.py random.py re.py reprlib.py requests.py secrets.py
  select.py shlex.py shutil.py signal.py site.py smtplib.py socket.py sqlite3.py ssl.py stat.py statistics.py string.py
  struct.py subprocess.py sys.py tempfile.py textwrap.py threading.py time.py token.py tokenize.py traceback.py types.py
  typing.py unittest.py urllib.py uuid.py venv.py warnings.py weakref.py xml.py zipfile.py zlib.py`);
const shadowingProgram = new RegExp(
  "^(bash|brew|bun|cargo|cat|cd|cmd|code|composer|curl|deno|docker|dotnet|gcc|gh|git|go|gradle|grep|java|kubectl|ls|make|mvn|node|" +
    "npm|npx|perl|php|pip3?|pnpm|powershell|pwsh|python3?|ruby|rustc|sh|ssh|sudo|terraform|uv|vim|wget|yarn|zsh)" +
    "(\\.(exe|com|bat|cmd|ps1|sh))?$",
);

/**
 * Contains deleted files too, but of the folders only those with a file that is there afterwards. Where people gave the
 * folder (`given`), its own name counts as well.
 */
export function findAutorunFiles(
  { effects }: Pick<Effects, "effects">,
  base: string,
  kind: DraftRecord["kind"] = "own",
): ReadonlySet<RawPath> {
  const gitFolders = createGitFolders(effects, base);
  const above = kind === "given" ? namesAbove(base) : [];
  const targets = findAutorunTargets(base, (path) => isListedPath({ raw: path, type: "file", notes: [] }, above));
  const found = new Set<RawPath>();
  for (const effect of effects) {
    if (!gitFolders.runs(effect) && !isListedPath(effect, above) && !targets.has(effect)) continue;
    found.add(effect.raw);
    if (effect.action === "deleted") continue;
    for (let path = parentFolder(effect.raw); path !== "" && !found.has(path); path = parentFolder(path))
      found.add(path);
  }
  return found;
}

export function warningOf({ action, raw, type }: Effect, autorun: ReadonlySet<RawPath>): string | undefined {
  if (action === "deleted" || !autorun.has(raw)) return undefined;
  return type === "folder" ? autorunFolderWarning : autorunWarning;
}

const maxNamesAbove = 3;

/** The names of the folder itself that decide what is in it: from `.claude`, `cron.d` or `hooks` on. */
function namesAbove(base: string): string[] {
  const names = realPathOf(base)
    .split(sep)
    .filter(Boolean)
    .slice(-maxNamesAbove)
    .map((name) => name.toLowerCase());
  const first = names.findIndex((name) => /^\.|^hooks$|\.d$/.test(name) || autorunFolders.test(name));
  return first === -1 ? [] : names.slice(first);
}

/** By its name alone. A folder runs nothing; the files in it do. */
function isListedPath(effect: Pick<Effect, "raw" | "type" | "notes">, above: readonly string[]): boolean {
  return readings(effect.raw).some((parts) => runsByItself(effect, parts, above));
}

function runsByItself(
  { raw, type, notes }: Pick<Effect, "raw" | "type" | "notes">,
  inside: readonly string[],
  above: readonly string[],
): boolean {
  const parts = [...above, ...inside];
  if (isGitPath(parts)) return runsInGitFolder(parts, type);
  if (type === "folder") return false;
  const name = parts.at(-1) ?? "";
  const isProgram = notes.includes("executable");
  return (
    parts.some((part) => shortName.test(part) || autorunFolders.test(part)) ||
    parts.some((part, at) => part.endsWith(".d") && at < parts.length - 1) ||
    parts.some((_, at) => isUnknownDotName(parts, at, isProgram)) ||
    isHook(name, parts.at(-2)) ||
    isInProgramFolder(parts) ||
    isListed(name, raw.slice(raw.lastIndexOf("/") + 1).replace(/:.*$/, ""), inside.length === 1)
  );
}

function isUnknownDotName(parts: readonly string[], at: number, isProgram: boolean): boolean {
  const [part = "", next] = parts.slice(at);
  if (!part.startsWith(".")) return false;
  if (next !== undefined && isProgram) return true;
  if (next !== undefined && serviceFolders.test(part)) return !harmlessInServiceFolders.test(next);
  if (part === ".changeset") return parts.at(-1)?.endsWith(".md") !== true;
  return !harmlessDotNames.test(part);
}

function isHook(name: string, folder = ""): boolean {
  const [stem = "", ending] = name.split(".");
  return gitHooks.has(stem) || (folder === "hooks" && ending === undefined);
}

function isListed(name: string, raw: string, isAtRoot: boolean): boolean {
  const alike = name
    .replace(/\.yaml$/, ".yml")
    .replace(/\.json[c5]$/, ".json")
    .replace(/\.[cm]?[jt]sx?$/, ".js");
  if (documents.test(alike)) return true;
  if (isAtRoot && instructions.test(raw) && !knownDocuments.test(name)) return true;
  if (documentEnding.test(alike)) return false;
  if (isAtRoot && isListedAtRoot(name, alike)) return true;
  const isKnown = programs.test(alike) || ruleFile.test(alike) || settingsFile.test(name);
  return isKnown || unknownRuleFile.test(raw) || unknownManifest.test(raw);
}

function isListedAtRoot(name: string, alike: string): boolean {
  if (settingsAtRoot.test(alike) || shadowingModule.test(name) || shadowingProgram.test(name)) return true;
  if (startedByTools.test(name)) return true;
  return settingsOfUnknownTools.test(alike) && !dataAtRoot.test(alike);
}

/** Those of services and packages, and every `requirements/*.txt`. */
function isInProgramFolder(parts: readonly string[]): boolean {
  const [name = "", folder = "", above = ""] = parts.toReversed();
  if (folder === "project") return name.endsWith(".scala");
  if (folder === "requirements") return /\.(txt|in)$/.test(name);
  if (folder === "plugin" || folder === "ftplugin" || folder === "autoload") return /\.(vim|lua)$/.test(name);
  return (
    (foldersOfPrograms.test(folder) || foldersOfPrograms.test(`${above}/${folder}`)) &&
    !harmlessInProgramFolders.test(name)
  );
}

function parentFolder(path: RawPath): RawPath {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Names with `*` for any characters, and `[…]` for one of these. Most are looked up, because drafts may be huge. */
function patterns(names: string): Pick<RegExp, "test"> {
  const all = names.trim().split(/\s+/);
  const exact = new Set(all.filter((name) => /^[^*[]+$/.test(name)));
  const endings = new Set(all.filter((name) => /^\*\.[^*[]+$/.test(name)).map((name) => name.slice(1)));
  const others = all
    .filter((name) => name.includes("*") && !endings.has(name.slice(1)))
    .map((name) => name.replaceAll(".", "\\.").replaceAll("*", ".*"));
  const other = new RegExp(`^(?:${others.join("|") || "(?!)"})$`);
  return { test: (name) => exact.has(name) || endingsOf(name).some((end) => endings.has(end)) || other.test(name) };
}

/** `.config.ts` and `.ts`, for example. */
function endingsOf(name: string): string[] {
  return [...name.matchAll(/\./g)].map(({ index }) => name.slice(index));
}
