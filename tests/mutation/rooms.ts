/** What is mutated, and the tests that have to notice: below `packages`. */

interface Room {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}

const TESTS = 'authorization-server/test';

export const rooms: Readonly<Record<string, Room>> = {
  /** Redirect matching and PKCE. */
  protocol: {
    mutate: ['protocol/src/redirect-uri.ts', 'protocol/src/pkce.ts', 'protocol/src/credentials.ts'],
    tests: [
      'protocol/test/{redirect-uri,redirect-uri-reasons,pkce,credentials,authorization-request,token-request}.test.ts',
    ],
  },
  codes: {
    mutate: ['authorization-server/src/token/authorization-code.ts'],
    tests: [`${TESTS}/{authorization-code,code-reasons,code-sent-twice}.test.ts`],
  },
  refresh: {
    mutate: [
      'authorization-server/src/token/refresh.ts',
      'authorization-server/src/token/refresh-tokens.ts',
      'authorization-server/src/token/family.ts',
    ],
    tests: [`${TESTS}/{refresh,refresh-reasons,family,shared-limits}.test.ts`],
  },
  clients: {
    mutate: [
      'authorization-server/src/clients/authenticate.ts',
      'authorization-server/src/clients/presented.ts',
    ],
    tests: [`${TESTS}/{client-authentication,client-assertions,presented}.test.ts`],
  },
};
