/** The dashboard's pages, in the order of the navigation. */
import { openNow } from "./pages/now.js";
import { openTurn } from "./pages/turn.js";
import { openTurns } from "./pages/turns.js";

export const routes = [
  { name: "", title: "Now", hasId: false, isListed: true, open: openNow },
  { name: "approvals", title: "Approvals", hasId: false, isListed: false, open: openNow },
  { name: "turns", title: "Turns", hasId: false, isListed: true, open: openTurns },
  { name: "turns", title: "Turn", hasId: true, isListed: false, open: openTurn },
];
