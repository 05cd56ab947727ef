/** How tests are found and run: from the sources, with one PostgreSQL and one Chromium shared by all of them. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const conditions = ['source', 'module', 'node', 'development'];

const config: ViteUserConfig = defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'examples/*/test/**/*.test.ts', 'tests/**/*.test.ts'],
    globalSetup: ['tests/support/global-setup.ts'],
    // One more than cores, as much as these tests wait: for clocks, processes and browsers.
    maxWorkers: 3,
    // Many tests start processes: on a busy machine each takes seconds, and a limit is there for what never ends.
    testTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 60_000,
  },
});

export default config;
