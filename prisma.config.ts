import { defineConfig } from 'prisma/config';

// Read by the Prisma CLI alone; the service itself reads src/platform/config/config.ts.
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://unset' },
});
