/** The files for containers and Kubernetes: what they name exists in the code, and they give the rights that the docs list. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { loadSettings } from "../src/config/load.ts";

const project = resolve(import.meta.dirname, "..");
const read = (path: string) => readFile(resolve(project, path), "utf8");
const rights = [
  "no-new-privileges:true",
  "seccomp=./deploy/container/seccomp.json",
  "apparmor=unconfined",
  "systempaths=unconfined",
];

interface Service {
  command?: string[];
  env_file: object[];
  cap_drop: string[];
  read_only: boolean;
  init: boolean;
  security_opt: string[];
  volumes: string[];
  environment: Record<string, string>;
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: { metadata: { labels: Record<string, string> }; spec: Pod };
  };
}

interface Pod {
  securityContext: { runAsNonRoot: boolean; runAsUser: number };
  containers: {
    name: string;
    args: string[];
    envFrom: object[];
    env: { name: string; value: string }[];
    livenessProbe: { httpGet: object };
    readinessProbe: { exec: { command: string[] } };
    volumeMounts: { name: string; mountPath: string }[];
    securityContext: { readOnlyRootFilesystem: boolean; capabilities: { drop: string[] } };
  }[];
  volumes: { name: string }[];
}

test("the image copies folders that exist, runs as a plain user, and starts like npm start", async () => {
  const lines = (await read("Dockerfile")).split("\n");
  const copied = lines.flatMap((line) => /^COPY (.+) \.\/\S*$/.exec(line)?.[1]?.split(" ") ?? []);
  expect(copied).toContain("src");
  for (const path of copied) expect(existsSync(resolve(project, path)), path).toBe(true);
  expect(lines).toContain("USER node");
  expect(lines.some((line) => line.startsWith("HEALTHCHECK "))).toBe(true);
  const entry = JSON.parse(lines.find((line) => line.startsWith("ENTRYPOINT"))?.slice("ENTRYPOINT ".length) ?? "[]");
  const command = JSON.parse(lines.find((line) => line.startsWith("CMD"))?.slice("CMD ".length) ?? "[]");
  const { scripts } = JSON.parse(await read("package.json")) as { scripts: { start: string } };
  expect([...entry, ...command].join(" ")).toBe(scripts.start);
});

test.each(["compose.yaml", "compose.redis.yaml"])("%s gives each process the least rights", async (file) => {
  const { services } = parse(await read(file), { merge: true }) as { services: Record<string, Service> };
  const ours = Object.entries(services).filter(([name]) => name !== "redis");
  expect(ours.length).toBeGreaterThan(0);
  for (const [name, service] of ours) {
    expect(service, name).toMatchObject({ read_only: true, init: true, cap_drop: ["ALL"], security_opt: rights });
    expect(service.env_file).toEqual([{ path: ".env", required: false }]);
    expect(service.volumes.map((volume) => volume.split(":")[1])).toEqual([
      "/app/config",
      "/app/workspace",
      "/app/data",
    ]);
    expect(["all", "platforms", "worker"]).toContain(service.command?.at(-1) ?? "all");
  }
});

test("the seccomp profile forbids only what nobody needs, and no call that makes a sandbox", async () => {
  const { defaultAction, syscalls } = JSON.parse(await read("deploy/container/seccomp.json")) as {
    defaultAction: string;
    syscalls: { names: string[]; action: string }[];
  };
  expect(defaultAction).toBe("SCMP_ACT_ALLOW");
  const denied = syscalls.flatMap(({ names, action }) => (action === "SCMP_ACT_ERRNO" ? names : []));
  expect(new Set(denied).size).toBe(denied.length);
  for (const name of ["bpf", "kexec_load", "init_module", "open_by_handle_at", "ptrace"])
    expect(denied).toContain(name);
  for (const name of ["clone", "clone3", "unshare", "mount", "umount2", "pivot_root", "seccomp", "setns"])
    expect(denied).not.toContain(name);
});

test("the manifests fit together and to the code", async () => {
  const folder = "deploy/kubernetes";
  const files = (await readdir(resolve(project, folder))).filter((name) => name.endsWith(".yaml"));
  const kustomization = parse(await read(`${folder}/kustomization.yaml`)) as { resources: string[] };
  for (const name of kustomization.resources) expect(files).toContain(name);
  const documents = await Promise.all(kustomization.resources.map((name) => read(`${folder}/${name}`)));
  const manifests = documents.flatMap((text) =>
    parseAllDocuments(text).map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as Manifest;
    }),
  );
  const ours = manifests.filter(({ metadata: { name }, spec }) => spec.template !== undefined && name !== "redis");
  expect(ours.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
    ["StatefulSet", "platforms"],
    ["Deployment", "worker"],
  ]);
  for (const { metadata, spec } of ours) {
    expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
    const { containers, securityContext, volumes } = spec.template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    const [container] = containers;
    expect(container?.args).toEqual(["start", "--role", metadata.name]);
    expect(container?.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } });
    // Only the pod itself is told more than that the process lives.
    expect(container?.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
    expect(container?.readinessProbe.exec.command.join(" ")).toContain("fetch('http://127.0.0.1:4180/readyz')");
    const claims = metadata.name === "platforms" ? ["data"] : [];
    const mounted = container?.volumeMounts.map(({ name }) => name).toSorted();
    expect(mounted).toEqual([...volumes.map(({ name }) => name), ...claims].toSorted());
  }
  const policies = manifests.filter(({ kind }) => kind === "NetworkPolicy");
  expect(policies.map(({ spec }) => spec)).toMatchObject([
    { podSelector: { matchLabels: { app: "remora" } }, policyTypes: ["Ingress"], ingress: [] },
    { podSelector: { matchLabels: { app: "remora-redis" } }, policyTypes: ["Ingress"] },
  ]);
  const budgets = manifests.filter(({ kind }) => kind === "PodDisruptionBudget");
  expect(budgets.map(({ metadata }) => metadata.name)).toEqual(["platforms", "worker"]);
  const loaded = loadSettings({ REMORA_CONFIG: resolve(project, folder, "remora.yaml") }, project);
  expect(loaded).toMatchObject({ type: "ok", settings: { config: { web: { host: "0.0.0.0", port: 4180 } } } });
});
