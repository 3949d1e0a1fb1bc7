/** The dashboard's pages, in the order of the navigation. `least` is the role that the page needs. */
import { openGrants } from "./pages/grants.js";
import { openHealth } from "./pages/health.js";
import { openMemory } from "./pages/memory.js";
import { openNow } from "./pages/now.js";
import { openPeople } from "./pages/people.js";
import { openSchedules } from "./pages/schedules.js";
import { openSettings } from "./pages/settings.js";
import { openSkills } from "./pages/skills.js";
import { openTurn } from "./pages/turn.js";
import { openTurns } from "./pages/turns.js";

export const routes = [
  { name: "", title: "Now", least: "viewer", hasId: false, isListed: true, open: openNow },
  { name: "approvals", title: "Approvals", least: "viewer", hasId: false, isListed: false, open: openNow },
  { name: "turns", title: "Turns", least: "operator", hasId: false, isListed: true, open: openTurns },
  { name: "turns", title: "Turn", least: "operator", hasId: true, isListed: false, open: openTurn },
  { name: "people", title: "People", least: "viewer", hasId: false, isListed: true, open: openPeople },
  { name: "grants", title: "Grants", least: "operator", hasId: false, isListed: true, open: openGrants },
  { name: "schedules", title: "Schedules", least: "viewer", hasId: false, isListed: true, open: openSchedules },
  { name: "memory", title: "Memory", least: "operator", hasId: false, isListed: true, open: openMemory },
  { name: "skills", title: "Skills", least: "operator", hasId: false, isListed: true, open: openSkills },
  { name: "settings", title: "Settings", least: "operator", hasId: false, isListed: true, open: openSettings },
  { name: "health", title: "Health", least: "viewer", hasId: false, isListed: true, open: openHealth },
];
