/** How mutants are tried: by the tests of the package that they are in, named by `MUTATION`, without databases and browsers. */
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

const rooms: Readonly<Record<string, readonly string[]>> = {
  protocol: ['protocol/test/{redirect-uri,pkce,credentials,authorization-request,token-request}'],
  server: [
    'authorization-server/test/{authorization-code,code-sent-twice,refresh,family}',
    'authorization-server/test/{client-authentication,client-assertions,client-credentials}',
  ],
};

const config: ViteUserConfig = defineConfig({
  ...base,
  test: {
    ...base.test,
    include: (rooms[process.env['MUTATION'] ?? ''] ?? []).map((room) => `packages/${room}.test.ts`),
    globalSetup: [],
  },
});

export default config;
