# Remora in a container: the base image's own Node, no build step, no root.
FROM node:24-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends git ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json ./
# The packages of the lock file, without their install scripts and without the npm package `node`: the image has one.
RUN npm ci --omit=dev --omit=peer --omit=optional --ignore-scripts --no-audit --no-fund
COPY config ./config
COPY skills ./skills
COPY slack ./slack
COPY src ./src
COPY workspace ./workspace
RUN mkdir -p data && chown -R node:node data workspace
USER node
VOLUME ["/app/workspace", "/app/data"]
EXPOSE 4180
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.REMORA_PORT || 4180}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The flags of `npm start`: V8 else takes as much memory as the machine has to spare.
ENTRYPOINT ["node", "--max-semi-space-size=8", "src/remora.mjs"]
CMD ["start"]
