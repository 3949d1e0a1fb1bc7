import { createSoleBus, createSoleLeases } from "../../src/core/coordination.ts";
import { silentLog } from "../../src/core/log.ts";
import { coordinationConformance } from "../conformance/coordination.ts";

coordinationConformance("the sole leases and bus", { isSole: true }, async () => {
  const leases = createSoleLeases();
  const bus = createSoleBus(silentLog);
  return {
    open: () => ({ leases, bus }),
    async dispose() {
      await leases.close();
      await bus.close();
    },
  };
});
