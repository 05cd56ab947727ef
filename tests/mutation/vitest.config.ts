/** Runs the tests of the target that `MUTATION` names against its mutants, without databases and browsers. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { mutationTargets } from './targets.ts';

const { tests = [] } = mutationTargets[process.env['MUTATION'] ?? ''] ?? {};
const { projects: _projects, globalSetup: _globalSetup, ...shared } = base.test ?? {};

const config: ViteUserConfig = defineConfig({
  ...base,
  test: {
    ...shared,
    // Files share a worker thread, which loads each module once, as in the projects of `npm test`.
    isolate: false,
    setupFiles: ['tests/mutation/compile-cache.ts', ...[shared.setupFiles ?? []].flat()],
    // Worker threads, which Stryker prescribes, refuse the flags of V8.
    execArgv: ['--conditions=portcullis-source'],
    include: tests.map((test) => `packages/${test}`),
  },
});

export default config;
