/** Runs the tests of the target that `MUTATION` names against its mutants, without databases and browsers. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { mutationTargets } from './targets.ts';

const { tests = [] } = mutationTargets[process.env['MUTATION'] ?? ''] ?? {};
const { projects: _projects, globalSetup: _globalSetup, ...shared } = base.test ?? {};

const config: ViteUserConfig = defineConfig({
  ...base,
  // Worker threads, which Stryker prescribes, refuse the flags of V8.
  test: {
    ...shared,
    execArgv: ['--conditions=portcullis-source'],
    include: tests.map((test) => `packages/${test}`),
  },
});

export default config;
