# syntax=docker/dockerfile:1
# The release that npm scripts also use (package.json, `node`). `docker buildx imagetools inspect` prints the digest of a
# tag, to be appended as `@sha256:…`. None was verified, so none is set.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# npm ci needs the manifest of the workspace, which is in the lockfile.
COPY clients/typescript/package.json clients/typescript/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# The image runs the service on an existing Postgres and Temporal. It has no embedded stack, no Prisma CLI and nothing for
# other platforms. Without --workspaces=false, a link to the workspace stays, which leads nowhere.
RUN npm run prepare \
  && npm prune --omit=dev --omit=optional --omit=peer --ignore-scripts --workspaces=false \
  && node scripts/slim-modules.mjs \
  && rm -rf dist/bench dist/test dist/.tsbuildinfo

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="transfer-service" \
  org.opencontainers.image.version="1.0.0" \
  org.opencontainers.image.licenses="MIT"
# Both bound the memory (docs/decisions/0010-keep-optimised-code-and-bound-memory.md): of young objects, and the freed memory that glibc
# keeps.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=8 MALLOC_ARENA_MAX=2
WORKDIR /app
# The CA certificates verify Temporal's certificate. Node.js brings its own for Postgres and receivers.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates tini && rm -rf /var/lib/apt/lists/*
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/prisma prisma
# The user `node` by its number, since Kubernetes' runAsNonRoot cannot resolve a name.
USER 1000:1000
EXPOSE 3000
# Each container runs one role: api, worker, migrate, or any other command of the CLI.
ENTRYPOINT ["tini", "--", "node", "dist/src/cli.js"]
CMD ["start"]
