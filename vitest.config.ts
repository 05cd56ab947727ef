/** How tests are found and run: from the sources, with one PostgreSQL and one Chromium shared by all of them. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const conditions = ['portcullis-source', 'module', 'node', 'development'];

/** Packages whose tests keep to themselves: each has all that it needs made for it, and leaves no trace in its process. */
const TOGETHER = ['authorization-server', 'http', 'protocol', 'resource-server'].map(
  (name) => `packages/${name}/test/**/*.test.ts`,
);

const ALL = ['packages/*/test/**/*.test.ts', 'examples/*/test/**/*.test.ts', 'tests/**/*.test.ts'];

const config: ViteUserConfig = defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects: [
      // What they import is loaded once for many files: a quarter of the time.
      { extends: true, test: { name: 'together', include: TOGETHER, isolate: false } },
      { extends: true, test: { name: 'apart', include: ALL, exclude: TOGETHER } },
    ],
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
