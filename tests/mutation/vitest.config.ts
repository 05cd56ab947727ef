/** How mutants are tried: by the tests of the room that `MUTATION` names, without databases and browsers. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { rooms } from './rooms.ts';

const { tests = [] } = rooms[process.env['MUTATION'] ?? ''] ?? {};
const { projects: _projects, globalSetup: _globalSetup, ...shared } = base.test ?? {};

const config: ViteUserConfig = defineConfig({
  ...base,
  test: { ...shared, include: tests.map((test) => `packages/${test}`) },
});

export default config;
