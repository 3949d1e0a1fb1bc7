import { silentLog } from "../../src/lib/log.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { coordinationConformance } from "../conformance/cluster.ts";

coordinationConformance("the sole leases and bus", { isSole: true }, async () => {
  const leases = createInMemoryLeases();
  const bus = createInMemoryBus(silentLog);
  return {
    open: () => ({ leases, bus }),
    async dispose() {
      await leases.close();
      await bus.close();
    },
  };
});
