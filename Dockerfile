# Compiles. The runtime comes from the image, so that the one in the development dependencies only helps here.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY mappings ./mappings
COPY src ./src
RUN npm run build

# Only what the gateway needs to run.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM node:24-slim
LABEL org.opencontainers.image.title="Transload" \
      org.opencontainers.image.description="A gateway that lets version-1 integrations of a vehicle-transport service go on working against version 2." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
# Two arenas are what few threads need; glibc would open eight for each core, and each keeps what it has had. Told to give
# back what is free from 128 KiB on, it does so even after V8's compiler has asked for much.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
COPY package.json LICENSE ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist

# The embedded store. A number for the user, not a name: orchestrators check by it that it is not root.
RUN mkdir data && chown 1000:1000 data
VOLUME /app/data
USER 1000:1000

EXPOSE 8080
# Draining takes up to SHUTDOWN_GRACE_MS, 30 seconds unless told: give `docker stop --timeout` more than that.
STOPSIGNAL SIGTERM
# Whether it lives, not whether it is ready: a store that is away comes back without a new container.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "dist/src/main.js", "healthcheck"]
# Half of what Node takes by itself for new objects: as many calls a second, and 24 MB less.
CMD ["node", "--max-semi-space-size=8", "dist/src/main.js", "serve"]
