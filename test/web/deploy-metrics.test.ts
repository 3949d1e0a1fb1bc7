/** The dashboard for Grafana and the alert rules may name only metrics that a process really has. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { createEvents } from "../../src/lib/event-bus.ts";
import { createMetrics } from "../../src/web/metrics.ts";

const deploy = resolve(import.meta.dirname, "../../deploy");
const metrics = createMetrics(createEvents());
const known = new Set(
  Array.from((await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)/gm), ([, name = "", kind]) =>
    kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ).flat(),
);
metrics.close();

const namesIn = (expression: string) =>
  Array.from(expression.matchAll(/\b(?:remora|nodejs|process)_\w+/g), ([name]) => name).filter(
    // A colon of Prometheus' own labels.
    (name) => !name.endsWith("_interval"),
  );

test("the alert rules name known metrics and say what to do", async () => {
  const rules = parse(await readFile(resolve(deploy, "prometheus/alerts.yml"), "utf8")) as {
    groups: {
      rules: { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } }[];
    }[];
  };
  const all = rules.groups.flatMap((group) => group.rules);
  expect(all.length).toBeGreaterThan(5);
  for (const { alert, expr, labels, annotations } of all) {
    expect(alert).toMatch(/^Remora[A-Z]/);
    expect(["warning", "critical"]).toContain(labels.severity);
    expect(annotations.summary).toMatch(/\.$/);
    expect(namesIn(expr).filter((name) => !known.has(name))).toEqual([]);
  }
});

test("every panel of the Grafana dashboard shows known metrics, and all of ours are shown", async () => {
  const dashboard = JSON.parse(await readFile(resolve(deploy, "grafana/remora.json"), "utf8")) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  const shown = dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)));
  expect(shown.filter((name) => !known.has(name))).toEqual([]);
  const ours = [...known].filter((name) => name.startsWith("remora_") && !/_(?:sum|count)$/.test(name));
  expect(ours.filter((name) => !shown.includes(name))).toEqual(["remora_turns_started_total"]);
});
