/** How tests are found and run: from the sources, with one PostgreSQL and one Chromium shared by all of them. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ALL = ['packages/*/test/**/*.test.ts', 'examples/*/test/**/*.test.ts', 'tests/**/*.test.ts'];

/** Matrices, races, outages and interoperability that repeat rules tested elsewhere in more combinations, and the documents in a shell: `npm run test:full`. */
const EXHAUSTIVE = [
  'tests/pages/{every-page,every-page-in-german,by-keyboard}.test.ts',
  'tests/resilience/*.test.ts',
  'tests/federation/{provider-token-lifecycle,remote-protected-server,federated-login.browser,login-methods.browser}.test.ts',
  'tests/interop/{examples,expiry,remote-revocation,command,device,enterprise,mcp-remote,postgres,openid-client-methods,refusals,step-up,step-up-authentication}.test.ts',
  'tests/interop/{admin,agents,backends,decision-points,frameworks,gateway,peers,scim}/*.test.ts',
  'tests/fuzz/sockets.test.ts',
  'tests/performance/*.test.ts',
  'tests/proxies/*.test.ts',
  'tests/recipes/{back-up,dev}.test.ts',
  'tests/release/charts/*.test.ts',
  'tests/release/linters/*.test.ts',
  'tests/release/{prometheus,syslog}/*.test.ts',
  'tests/security/shared-gateway.test.ts',
  'packages/admin/test/console/look.browser.test.ts',
  'packages/authorization-server/test/shared-signals-burst.test.ts',
  'tests/upgrade/each-migration.test.ts',
  'packages/authorization-server/test/{outages,edge-cases.browser}.test.ts',
  'packages/cli/test/{client-network,memory,processes}.test.ts',
  'packages/resource-server/test/{framework-adapters,readme}.test.ts',
  'packages/store/test/postgres.test.ts',
  'tests/documents/commands.test.ts',
];

/** The packages as they are published, in a project outside this clone: after `npm run build`. `npm run installed` */
const INSTALLED = 'tests/installed/*.test.ts';

/** The image and a clean Debian, which need root, debootstrap, buildah and podman: `npm run container` */
const CONTAINER = 'tests/container/*.test.ts';

/** The longest files start first, so that no worker waits for one of them alone at the end. */
const LONGEST = [
  'tests/performance/pair.test.ts',
  'tests/documents/commands.test.ts',
  'tests/interop/agents/agents.test.ts',
  'tests/pages/every-page-in-german.test.ts',
  'tests/pages/every-page.test.ts',
  'tests/resilience/sessions.test.ts',
  'tests/interop/backends/backends.test.ts',
  'tests/federation/provider-token-lifecycle.test.ts',
  'packages/store/test/postgres.test.ts',
  'packages/http/test/node.test.ts',
  'packages/gateway/test/stdio.test.ts',
  'packages/gateway/test/limits.test.ts',
  'packages/cli/test/mail.test.ts',
  'packages/cli/test/up.test.ts',
  'tests/federation/end-to-end.test.ts',
  'packages/cli/test/client.test.ts',
  'packages/gateway/test/other-users.test.ts',
  'packages/admin/test/console/look.browser.test.ts',
  'packages/resource-server/test/framework-adapters.test.ts',
  'packages/authorization-server/test/shared-signals-burst.test.ts',
  'tests/resilience/readiness.test.ts',
  'tests/interop/backends/client-dependent-tools.test.ts',
  'tests/interop/gateway/doctor.test.ts',
  'tests/interop/device.test.ts',
  'packages/gateway/test/uploads.test.ts',
  'tests/proxies/proxies.test.ts',
  'packages/resource-server/test/adapters.test.ts',
  'packages/cli/test/shared-signals.test.ts',
  'packages/store/test/migrations.test.ts',
  'packages/store/test/plans.test.ts',
];

/** One project after the other: a process that goes on with a file of another project is replaced, and loads all modules once more. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const index = LONGEST.findIndex((file) => moduleId.endsWith(file));
      const place = index < 0 ? LONGEST.length : index;
      return project.name === 'exhaustive' ? place : place + LONGEST.length + 1;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      // Tests change no global state, so that their files share a few processes, which load each module once.
      {
        extends: true,
        test: { name: 'main', include: ALL, exclude: [...EXHAUSTIVE, INSTALLED, CONTAINER], isolate: false },
      },
      { extends: true, test: { name: 'exhaustive', include: EXHAUSTIVE, isolate: false } },
      { extends: true, test: { name: 'container', include: [CONTAINER] } },
      {
        extends: true,
        test: {
          name: 'installed',
          include: [INSTALLED],
          globalSetup: ['tests/installed/project.ts'],
        },
      },
    ],
    sequence: { sequencer: LongestFirst },
    globalSetup: ['tests/support/global-setup.ts'],
    setupFiles: [
      'tests/support/clean-up.ts',
      'tests/support/compile-cache.ts',
      'tests/support/cheap-password-hashes.ts',
    ],
    // Node imports the sources itself, as it does when they run: a module runner in between takes a tenth of the processor time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Tests make much garbage that dies at once: in a larger young generation it costs an eighth less processor time. A process loads
    // a thousand modules that stay, and with its usual first limits marks all of them a dozen times: without that, a twentieth less.
    execArgv: [
      '--conditions=portcullis-source',
      '--min-semi-space-size=64',
      '--max-semi-space-size=64',
      '--initial-old-space-size=512',
    ],
    // More than there are cores, because these tests also wait for clocks, processes and browsers: `npm test` takes 157 s with eight
    // and 152 s with eleven, for the same processor time. With the exhaustive tests, which start more processes, nine.
    maxWorkers: 9,
    // Many tests start processes, which take half a minute on a very busy machine; the limits are for what never ends.
    testTimeout: 240_000,
    expect: { poll: { timeout: 100_000 } },
    hookTimeout: 240_000,
  },
});

export default config;
