/** How tests are found and run: from the sources, with one PostgreSQL and one Chromium shared by all of them. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const conditions = ['portcullis-source', 'module', 'node', 'development'];

/** Packages whose tests keep to themselves: each has all that it needs made for it, and leaves no trace in its process. */
const TOGETHER = ['authorization-server', 'http', 'protocol', 'resource-server'].map(
  (name) => `packages/${name}/test/**/*.test.ts`,
);

const ALL = ['packages/*/test/**/*.test.ts', 'examples/*/test/**/*.test.ts', 'tests/**/*.test.ts'];

/** They take longest, so they begin first: at the end everybody would wait for them alone. The second waits for clocks while the others work. */
const LONGEST = [
  'tests/pages/every-page-without-script.test.ts',
  'tests/upstream/life.test.ts',
  'tests/pages/every-page.test.ts',
  'tests/pages/every-page-in-german.test.ts',
  'packages/store/test/contract.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

const config: ViteUserConfig = defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects: [
      // What they import is loaded once for many files: a quarter of the time.
      { extends: true, test: { name: 'together', include: TOGETHER, isolate: false } },
      { extends: true, test: { name: 'apart', include: ALL, exclude: TOGETHER } },
    ],
    sequence: { sequencer: LongestFirst },
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
