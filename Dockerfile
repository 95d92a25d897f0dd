# The version of Node that the tests run with. For a reproducible image, name it with its digest: node:24.21.0-slim@sha256:…
ARG NODE_IMAGE=node:24.21.0-slim

# Bundles the sources with the Node of the image: that of the development dependencies is not installed.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts/build.ts ./scripts/
COPY mappings ./mappings
COPY src ./src
# What the gateway needs to run stays.
RUN node scripts/build.ts && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
ARG NODE_IMAGE
LABEL org.opencontainers.image.title="Transload" \
      org.opencontainers.image.description="A gateway that keeps version-1 integrations of a vehicle-transport service working with version 2." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
# For `docker exec`: the program on the path.
WORKDIR /usr/local/bin
RUN ln -s ../../../app/bin/transload.js transload
WORKDIR /app
# glibc would open eight arenas per core, and each keeps its freed memory; two are enough for few threads. The fixed trim
# threshold of 128 KiB makes it return free memory even after V8's compiler has allocated large blocks.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
COPY package.json LICENSE ./
COPY bin ./bin
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist

# The embedded store. The user is a number, by which orchestrators can check that it is not root.
RUN mkdir data && chown 1000:1000 data
VOLUME /app/data
USER 1000:1000

EXPOSE 8080
# Shutdown takes up to SHUTDOWN_GRACE_MS, 30 seconds by default: set `docker stop --timeout` higher.
STOPSIGNAL SIGTERM
# Checks liveness, not readiness: a store recovers without a new container.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "dist/src/main.js", "healthcheck"]
# Half of Node's default for new objects: the same throughput with 24 MB less.
# --permission: the gateway reads its program, its volume and the files of the operator, and the three files of its metrics. It
# writes to its volume only, and loads no addons. Threads are for the embedded store; on another one
# it gives them up. Node would warn of that flag at each start.
CMD ["node", "--max-semi-space-size=8", \
  "--permission", "--disable-warning=PERM0006", \
  "--allow-worker", \
  "--allow-fs-read=/app/*", "--allow-fs-read=/etc/transload/*", "--allow-fs-read=/run/secrets/*", \
  "--allow-fs-read=/proc/self/status", "--allow-fs-read=/proc/self/limits", "--allow-fs-read=/proc/self/fd", \
  "--allow-fs-write=/app/data/*", \
  "dist/src/main.js", "serve"]
