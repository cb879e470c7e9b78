# syntax=docker/dockerfile:1
# The same release that npm scripts run on (package.json, `node`). A digest fixes the bytes too: `docker buildx imagetools
# inspect node:24.21.0-bookworm-slim` prints it, to be appended as `@sha256:…`. No digest is verified here, so none is given.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run prepare && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
# Temporal's and Postgres's certificates are checked against these.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates tini && rm -rf /var/lib/apt/lists/*
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/prisma prisma
# `node`, by its number, since Kubernetes' runAsNonRoot cannot look up a name.
USER 1000:1000
EXPOSE 3000
# One image, one role for each container: api, worker, migrate, or any other command of the CLI.
ENTRYPOINT ["tini", "--", "node", "dist/src/cli.js"]
CMD ["start"]
