/** Which names carry a warning: known ones by kind, unknown ones of these kinds, and how file systems spell them otherwise. */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findAutorunFiles } from "../../../src/sandbox/draft/autorun-files.ts";
import type { Effect } from "../../../src/sandbox/effects/effect.ts";
import { encodeBytes } from "../../../src/sandbox/effects/raw-path.ts";

const rawOf = (path: string) => path.split("/").map((name) => encodeBytes(Buffer.from(name)));

function effectAt(path: string, change: Partial<Effect> = {}): Effect {
  const empty = { bytes: 1, previousBytes: 0, files: 1, notes: [], isBinary: false };
  return { path, raw: rawOf(path).join("/"), action: "added", type: "file", ...empty, ...change };
}

/** The paths that carry the warning, alone, in an empty folder. */
function warned(paths: readonly string[], change: Partial<Effect> = {}): string[] {
  return paths.filter((path) => findAutorunFiles({ effects: [effectAt(path, change)] }, "/nowhere").size > 0);
}

const words = (names: string) => names.trim().split(/\s+/);

const byKind: Record<string, string[]> = {
  git: words(
    ".git/config .git/hooks/pre-commit .git .git/info/attributes .git/config.worktree .gitmodules .gitattributes " +
      ".git/modules/lib/config .git/worktrees/x/commondir lib/.git .husky/pre-push hooks/post-merge githooks/x.sh",
  ),
  "editors and agents": words(
    ".vscode/tasks.json .idea/workspace.xml .cursor/mcp.json .claude/settings.json .gemini/settings.json " +
      ".codex/config.toml .windsurf/rules.md .zed/tasks.json .continue/config.yaml .kiro/hooks/x.json .aider.conf.yml .mcp.json " +
      "mcp.json AGENTS.md CLAUDE.md GEMINI.md CLAUDE.local.md .github/copilot-instructions.md .cursorrules app.code-workspace .vimrc " +
      ".exrc .nvim.lua .dir-locals.el .devcontainer/devcontainer.json devcontainer.json skills/x/SKILL.md",
  ),
  CI: words(
    ".github/workflows/ci.yml .github/actions/x/action.yml action.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile " +
      "azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .travis.yml .woodpecker.yml .buildkite/pipeline.yml appveyor.yml " +
      "cloudbuild.yaml buildspec.yml .forgejo/workflows/x.yaml .gitea/workflows/x.yaml .teamcity/settings.kts .semaphore/semaphore.yml " +
      "renovate.json .github/dependabot.yml",
  ),
  "package managers": words(
    "package.json .npmrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml setup.py setup.cfg pyproject.toml build.rs " +
      "Cargo.toml .cargo/config.toml Gemfile x.gemspec composer.json conanfile.py pom.xml build.gradle build.gradle.kts settings.gradle " +
      "gradlew gradle/wrapper/gradle-wrapper.jar mvnw .mvn/extensions.xml Podfile mix.exs deno.json bunfig.toml go.mod yarn.lock",
  ),
  "build tools": words(
    "Makefile GNUmakefile rules.mk CMakeLists.txt Rakefile Justfile Taskfile.yml Gruntfile.js gulpfile.js " +
      "webpack.config.js vite.config.ts babel.config.cjs eslint.config.mjs jest.config.ts .eslintrc.js tox.ini noxfile.py WORKSPACE " +
      "BUILD.bazel meson.build SConstruct Dockerfile docker-compose.yml compose.yaml web.dockerfile x.csproj default.nix",
  ),
  "shells and start files": words(
    ".bashrc .profile .envrc .zshenv .inputrc sitecustomize.py usercustomize.py conftest.py x.pth " +
      ".pre-commit-config.yaml app.service app.desktop crontab .tool-versions mise.toml .env .htaccess .gdbinit .Rprofile json.py git.exe",
  ),
};

const harmless =
  words(`README.md LICENSE CHANGELOG.md CONTRIBUTING.md docs/index.md docs/guide/install.md docs/api.rst docs/faq.html notes.txt TODO
  todo.txt src/index.ts src/main.rs src/lib.rs src/app.py src/utils/logging.py src/types.py src/Main.java src/main.go src/app.vue
  src/hooks/useUser.ts src/hooks/use-user.tsx src/components/Button.tsx src/components/Button.module.css src/user.service.ts src/file.ts
  src/profile.ts src/user-profile.tsx src/lock.ts src/config.ts src/config/schema.ts src/settings.py src/build.ts src/package.ts
  src/git.ts src/make.py src/ci.ts src/pipeline.ts src/workflow.ts src/agent.ts src/agents/agent.ts src/mcp.ts src/docker.ts
  src/objects/tree.ts src/refs/ref.ts src/head.ts src/index.html src/style.css src/theme.scss src/a.less src/icon.svg src/data.json
  src/query.sql src/schema.graphql src/schema.prisma src/messages.proto src/App.swift src/app.kt src/app.rb src/app.php src/app.lua
  src/app.ex src/app.hs src/app.c src/app.h src/app.cpp src/app.cs src/app.scala src/app.clj src/app.dart src/app.zig src/app.jl src/app.r
  src/app.pl src/app.sh scripts/deploy.sh scripts/build.py test/app.test.ts test/fixtures/data.yaml tests/test_app.py spec/app_spec.rb
  data/users.json data/build.yml data/values.yaml data/table.csv data/notes.xml data/x.tsv data/profile.json data/readfile.txt
  public/index.html public/robots.txt public/styles.css public/favicon.svg assets/logo.svg locales/de.json i18n/en.yaml
  templates/mail.html templates/page.njk content/post.mdx blog/2026-11-28.md .gitignore .gitkeep .editorconfig .prettierignore
  .dockerignore .eslintignore .nojekyll .mailmap .nvmrc .npmignore .well-known/security.txt .github/CODEOWNERS
  .github/ISSUE_TEMPLATE/bug.yml .github/PULL_REQUEST_TEMPLATE.md .github/FUNDING.yml .git/objects/ab/cd .git/refs/heads/main
  .git/HEAD .git/index .git/logs/HEAD .git/hooks/pre-commit.sample .git/COMMIT_EDITMSG .env.example config/app.yaml config.yaml
  data.yaml a.txt f0.txt x.sh deploy.sh main.py app.js server.ts index.html styles.css notes.md report.md budget.csv openapi.yaml
  Thumbs.txt src/Profile.tsx src/arc src/services/mail.ts docs/makefile.md docs/dockerfile.md docs/agents-overview.md`);

describe("the warning about files that run by themselves", () => {
  test.each(Object.entries(byKind))("is on every known name of %s", (_kind, names) => {
    expect(names.filter((name) => !warned(names).includes(name))).toEqual([]);
  });

  test("is on 120 names and not on 120 harmless ones", () => {
    expect(Object.values(byKind).flat().length).toBeGreaterThanOrEqual(120);
    expect(harmless.length).toBeGreaterThanOrEqual(120);
    expect(warned(harmless)).toEqual([]);
  });

  test("stays on names in other folders, in other case, as file systems spell them, and on unknown names of these kinds", () => {
    const letters = fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), minLength: 3, maxLength: 8 });
    const inner = Object.values(byKind)
      .flat()
      // A module takes the place of another only in the folder of a prompt.
      .filter((name) => !["json.py", "git.exe"].includes(name));
    const unknown = fc.oneof(
      letters.map((name) => `.${name}/settings.json`),
      letters.map((name) => `.${name}rc`),
      letters.map((name) => `.${name}.yml`),
      letters.map((name) => `${name}.config.ts`),
      letters.map((name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}file`),
      letters.map((name) => `${name}rc`),
      letters.map((name) => `${name}-pipeline.yml`),
      letters.map((name) => `.git/${name}.x`),
      letters.map((name) => `.git/hooks/${name}`),
      letters.map((name) => `.github/${name}x/a.yml`),
      letters.map((name) => `${name.slice(0, 6)}~1`),
    );
    const spelled = fc.oneof(
      fc
        .constantFrom(...inner)
        .chain((name) =>
          fc.constantFrom(
            name,
            name.toUpperCase(),
            name.toLowerCase(),
            `${name}.`,
            `${name} `,
            `${name}::$DATA`,
            ...(/^\w[\w-]*\.(service|desktop|csproj)$/.test(name) ? [`x:${name}`] : []),
            name.replace(/^(\.?.)/, "$1\u200c"),
            name.replaceAll("s", "\u017f"),
            name.replaceAll("k", "\u212a"),
          ),
        ),
      unknown,
    );
    const folders = fc.array(fc.constantFrom("packages", "web", "docs", "a b", "src", "übung"), { maxLength: 3 });
    fc.assert(
      fc.property(folders, spelled, (above, name) => {
        expect(warned([[...above, name].join("/")])).toHaveLength(1);
      }),
      { numRuns: 500 },
    );
  });

  test("is on links and files that take the place of such a folder, and not on a folder that is empty", () => {
    expect(
      warned([".vscode", ".git", "hooks/pre-push", "node_modules", ".git/hooks", ".git/HEAD"], { type: "link" }),
    ).toHaveLength(6);
    expect(warned([".vscode", ".husky", "node_modules"], { type: "folder" })).toEqual([]);
  });

  test("is on programs in a folder with a dot, also where its texts are harmless", () => {
    expect(warned([".github/ISSUE_TEMPLATE/run.md", ".well-known/run"], { notes: ["executable"] })).toHaveLength(2);
  });
});

test("the warning is on settings of tools, instructions and services by their place and kind, also of unknown ones", () => {
  const names =
    words(`binding.gyp gems.rb hie.yaml x.csproj.user Model.tt user.clj dev-requirements.txt requirements/base.txt src/Makevars
    debian/rules ci_scripts/ci_post_clone.sh postBuild server.js lefthook.toml 99-x.rules gitconfig tmux.conf codebuff.json knowledge.md
    SOUL.md HEARTBEAT.md pytest.toml tsconfig.json ld.so.preload tox.toml lefthook.json celeryconfig.py azure.yaml _quarto.yml psalm.xml
    test/mocha.opts settings.gradle.dcl project/Build.scala META-INF/services/x Chart.yaml kustomization.yaml quadlet/x.container
    pam.d/login logrotate.d/x apt.conf.d/x modprobe.d/x.conf tmpfiles.d/x.conf plugin/x.vim init.lua launchSettings.json zuul.d/x.yaml
    Game.uproject x.d/y tool.toml tool.yaml some-tool.json tool.ini TOOLING.md MEMORY.md settings.json`);
  expect(names.filter((name) => !warned(names).includes(name))).toEqual([]);
  const plain =
    words(`docs/SOUL.md config/app.yaml data/summary.json report.txt config/tool.toml src/main.d UPGRADE.md FAQ.md SECURITY.md
    CODE_OF_CONDUCT.md INSTALL.md HISTORY.md notes/SETUP.md README.de.md results.json report.xml sales-2026.json data.toml lib/Pod.pod
    debian/copyright src/project/app.ts locales/de.yaml src/app.scala`);
  expect(warned(plain)).toEqual([]);
});

test("the warning is on names whose kind stands before or behind a colon, since systems differ in which one counts", () => {
  const names = [
    "x:y.desktop",
    "x:y.service",
    "x:y.tf",
    "x:y.csproj",
    "a:b/x.tf",
    "x.desktop:y",
    "package.json:x",
    "Foofile:x",
  ];
  expect(warned(names)).toEqual(names);
  expect(warned(["x:y.md", "a: b.txt", "10:30.csv"])).toEqual([]);
});

describe("a folder that people gave, by its own name", () => {
  const warnedIn = (base: string, path: string, kind: "own" | "given" = "given") =>
    findAutorunFiles({ effects: [effectAt(path)] }, base, kind).size > 0;

  test.each([
    ["/srv/.claude", "settings.json"],
    ["/srv/.claude", "commands/a.md"],
    ["/srv/.claude/commands", "a.md"],
    ["/srv/.github", "workflows/test.yml"],
    ["/srv/.github/workflows", "test.yml"],
    ["/etc/cron.d", "backup"],
    ["/srv/app/.git/hooks", "pre-commit"],
    ["/srv/app/.git", "config"],
    ["/srv/app/hooks", "pre-x"],
    ["/srv/.Config/nvim/lua", "x.lua"],
  ])("%s makes %s one that can run by itself", (base, path) => {
    expect(warnedIn(base, path)).toBe(true);
  });

  test.each([
    ["/srv/.github", "ISSUE_TEMPLATE/bug.yml"],
    ["/srv/.remora/files/shared/website", "index.html"],
    ["/srv/app/hooks", "use-user.ts"],
    ["/srv/website", "a.md"],
  ])("%s leaves %s without a warning", (base, path) => {
    expect(warnedIn(base, path)).toBe(false);
  });

  test("counts only where people gave it, and by where a link to it leads", async () => {
    expect(warnedIn("/srv/.remora/files/dm_ann", "a.md", "own")).toBe(false);
    const root = await mkdtemp(join(tmpdir(), "remora-named-"));
    await mkdir(join(root, ".claude"));
    await symlink(join(root, ".claude"), join(root, "plain"));
    expect(warnedIn(join(root, "plain"), "commands/a.md")).toBe(true);
    await rm(root, { recursive: true });
  });
});

describe("what the folder makes run under another name", () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "remora-targets-"));
  });
  afterEach(() => rm(base, { recursive: true }));
  const isWarned = (path: string) => findAutorunFiles({ effects: [effectAt(path)] }, base, "given").size > 0;
  async function link(from: string, to: string): Promise<void> {
    await mkdir(dirname(join(base, from)), { recursive: true });
    await symlink(to, join(base, from));
  }
  async function configure(text: string, file = ".git/config"): Promise<void> {
    await mkdir(dirname(join(base, file)), { recursive: true });
    await writeFile(join(base, file), text);
  }

  test("is the target of every link with such a name, in any of its folders and over several links", async () => {
    const letters = fc.string({ unit: fc.constantFrom(..."abcdefg"), minLength: 3, maxLength: 6 });
    const from = fc.constantFrom(
      ...[
        ".git/hooks/pre-commit",
        "CLAUDE.md",
        ".github/workflows/x.yml",
        "packages/web/AGENTS.md",
        ".vscode/tasks.json",
      ],
      ...[".husky/pre-push", "Makefile", ".claude", "lib/.git/hooks/post-merge", ".git/hooks"],
    );
    await fc.assert(
      fc.asyncProperty(from, letters, letters, fc.nat(2), async (name, folder, file, hops) => {
        const target = `s${folder}/${file}`;
        const steps = Array.from({ length: hops }, (_, at) => `via${at}`);
        for (const [at, step] of [name, ...steps].entries())
          await link(step, relative(dirname(join(base, step)), join(base, steps[at] ?? target)));
        expect([target, `${target}/inner.x`, ...steps].map(isWarned)).not.toContain(false);
        expect(isWarned(`${target}x`)).toBe(false);
        for (const left of [
          ".git",
          "lib",
          "packages",
          ".github",
          ".vscode",
          ".husky",
          ".claude",
          "CLAUDE.md",
          "Makefile",
          ...steps,
        ])
          await rm(join(base, left), { recursive: true, force: true });
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["[core]\n\thooksPath = scripts/run\n", "scripts/run/_lib"],
    ['[core]\n\thooksPath = "./scripts/run/"\n', "scripts/run/pre"],
    ["[CORE] HOOKSPATH = scripts\n", "scripts/a"],
    ["[core]\n\tfsmonitor = scripts/watch\n", "scripts/watch"],
    ['[alias]\n\tx = "!sh tools/x.sh"\n', "tools/x.sh"],
    ["[include]\n\tpath = ../git/shared\n", "git/shared"],
    ['[filter "x"]\n\tclean = python tools/clean.py %f\n', "tools/clean.py"],
    ["[core]\n\tpager = a \\\n  tools/b\n", "tools/b"],
    ["[core]\r\n\tfsmonitor = tools/mon.sh\r\n", "tools/mon.sh"],
    ["\uFEFF[core] fsmonitor = tools/mon.sh\n", "tools/mon.sh"],
    ["[core]\n\tfsmonitor = \"'tools/my mon.sh'\" # x\n", "tools/my mon.sh"],
    ['[core]\n\tfsmonitor = "\\"tools/my mon.sh\\" 1"\n', "tools/my mon.sh"],
    ["[core]\n\tfsmonitor = tools/mon.sh#note\n", "tools/mon.sh"],
    ["[core]\n\tfsmonitor = awk -ftools/x\n", "tools/x"],
    ["[core]\n\tfsmonitor = $PWD/tools/mon.sh\n", "tools/mon.sh"],
    ['[core]\n\tfsmonitor = "\\"$(git rev-parse --show-toplevel)\\"/tools/mon.sh"\n', "tools/mon.sh"],
    ["[core]\n\tfsmonitor = $(git rev-parse --show-toplevel)/tools/mon.sh\n", "tools/mon.sh"],
    ["[core]\n\tfsmonitor = python3 -m tools.mon\n", "tools/mon.py"],
    ["[core]\n\tfsmonitor = node tools/mon\n", "tools/mon.js"],
    ['[filter "a]b"] clean = tools/mon.sh\n', "tools/mon.sh"],
  ])("is what git's configuration names: %j", async (config, path) => {
    await configure(config);
    expect(isWarned(path)).toBe(true);
    expect(["docs/a.md", "scripts-2/a.md", "main", "a.txt"].map(isWarned)).not.toContain(true);
  });

  test.each([
    ["#!/bin/sh\nexec tools/mon.sh\n", "tools/mon.sh"],
    ['#!/bin/sh\r\nnode "$(dirname "$0")/../../tools/mon" || exit 1\r\n', "tools/mon.mjs"],
    ["cd web && python3 -m tools.mon\n", "tools/mon/__main__.py"],
  ])("is what a hook of git names: %j", async (hook, path) => {
    await configure(hook, ".git/hooks/pre-commit");
    expect(isWarned(path)).toBe(true);
    expect(["docs/a.md", "tools/other.sh", "web/a.txt"].map(isWarned)).not.toContain(true);
    await rm(join(base, ".git/hooks/pre-commit"));
    await configure(hook, ".git/hooks/pre-commit.sample");
    expect(isWarned(path)).toBe(false);
    await configure("[core] hooksPath = .githooks\n");
    await configure(hook, ".githooks/pre-push");
    expect(isWarned(path)).toBe(true);
  });

  test.each([
    [".git", "gitdir: ../.git/modules/x\n"],
    [".git/config", `# ${"x".repeat(100_000)}\n`],
    [".git/config", "[include]\n\tpath = a\n\tpath = b\n\tpath = c\n\tpath = d\n"],
    [".git/config", '[includeIf "gitdir:~/"]\n\tpath = ~/../../../shared.config\n'.replace("~/..", "..")],
    [".git/config", "[include] path = /etc/shared.config\n"],
  ])("is every program where it can't be told what git runs, as with %s of %j", async (file, text) => {
    await configure(text, file);
    expect(["tools/mon.sh", "a.py", "bin/run"].map(isWarned)).not.toContain(false);
    await configure("", "a.txt");
    expect(["a.txt", "docs/a.md"].map(isWarned)).not.toContain(true);
    await chmod(join(base, "a.txt"), 0o755);
    expect(isWarned("a.txt")).toBe(true);
  });

  test("is what the repositories of submodules name", async () => {
    await configure("[core] fsmonitor = tools/a.sh\n", ".git/modules/lib/config");
    await configure("exec tools/b.sh\n", ".git/modules/lib/hooks/pre-commit");
    expect(["tools/a.sh", "tools/b.sh", "tools/c.sh"].map(isWarned)).toEqual([true, true, false]);
  });

  test("is what an included configuration names, and what the repository around the folder names", async () => {
    await configure("[include]\n\tpath = ../shared\n");
    await configure("[core]\n\thooksPath = deep\n", "shared");
    expect(isWarned("deep/x")).toBe(true);
    const outer = base;
    base = join(outer, "web");
    await mkdir(join(base, "scripts"), { recursive: true });
    await link("../.git/hooks/pre-commit", "../../web/scripts/check.sh");
    expect(isWarned("scripts/check.sh")).toBe(true);
    await link("../CLAUDE.md", "web/rules.md");
    expect(["rules.md", "other.md"].map(isWarned)).toEqual([true, false]);
    base = outer;
  });

  test("is nothing outside of it, no branch or address, and reading it ends with a pipe or a circle of links", async () => {
    await configure(
      '[remote "origin"]\n\turl = docs\n[branch "main"]\n\tmerge = main\n\tremote = .\n[core]\n\thooksPath = /etc\n',
    );
    await link("AGENTS.md", "CLAUDE.md");
    await link("CLAUDE.md", "AGENTS.md");
    expect(["docs", "main", "etc", "a.txt"].map(isWarned)).not.toContain(true);
  });
});

describe("a repository that is not called .git", () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "remora-bare-"));
  });
  afterEach(() => rm(base, { recursive: true }));

  async function write(...paths: string[]): Promise<void> {
    for (const path of paths) {
      await mkdir(dirname(join(base, path)), { recursive: true });
      await writeFile(join(base, path), "");
    }
  }
  const found = (...effects: Effect[]) => [...findAutorunFiles({ effects }, base)].toSorted();

  test("is known by its parts when a change adds them all", () => {
    const added = ["docs/HEAD", "docs/config", "docs/objects/x", "docs/refs/heads/x"].map((path) => effectAt(path));
    expect(found(...added, effectAt("docs/a.md"))).toEqual(["docs", "docs/HEAD", "docs/config"]);
  });

  test.each([
    ["docs/config", ["docs/HEAD", "docs/objects/x", "docs/refs/x"]],
    ["docs/HEAD", ["docs/config", "docs/objects/x", "docs/refs/x"]],
    ["docs/hooks/x", ["docs/HEAD", "docs/objects/x", "docs/refs/x"]],
    ["HEAD", ["config", "objects/x", "refs/x"]],
    ["docs/commondir", ["docs/HEAD", "docs/config"]],
    ["docs/head", ["docs/config", "docs/objects/x", "docs/refs/x"]],
  ])("is known when a change adds only %s to what is there", async (path, there) => {
    await write(...there);
    expect(found(effectAt(path))).toContain(path);
  });

  test.each(["objects", "refs"])("is known when a change completes it with the folder %s", async (name) => {
    await write(
      "docs/HEAD",
      "docs/config",
      ...["objects", "refs"].filter((other) => other !== name).map((other) => `docs/${other}/x`),
    );
    expect(found(effectAt(`docs/${name}`, { type: "folder", files: 0 }))).toContain(`docs/${name}`);
    expect(found(effectAt(`docs/${name}/x`), effectAt(`docs/${name}`, { type: "folder" }))).toContain(`docs/${name}`);
  });

  test("stays one when a change deletes another file whose name a file system may compare as equal", async () => {
    await write("docs/HEAD", "docs/HEAD:x", "docs/objects/x", "docs/refs/x");
    expect(found(effectAt("docs/HEAD:x", { action: "deleted" }), effectAt("docs/config"))).toContain("docs/config");
  });

  test("is none without all of its parts, nor once a change takes one away", async () => {
    await write("docs/HEAD", "docs/refs/x", "lib/HEAD", "lib/objects/x", "lib/refs/x");
    expect(found(effectAt("docs/config"), effectAt("src/objects/x"), effectAt("src/refs/x"))).toEqual([]);
    expect(found(effectAt("lib/HEAD", { action: "deleted" }), effectAt("lib/config"))).toEqual([]);
  });
});
