/** What is mutated, and the tests that have to fail: below `packages`. */

interface MutationTarget {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}

const TESTS = 'authorization-server/test';

export const mutationTargets: Readonly<Record<string, MutationTarget>> = {
  /** Redirect matching and PKCE. */
  protocol: {
    mutate: [
      'protocol/src/redirect-uri.ts',
      'protocol/src/pkce.ts',
      'protocol/src/messages/authorization-header.ts',
    ],
    tests: [
      'protocol/test/{redirect-uri,redirect-uri-reasons,pkce,credentials,authorization-request,token-request}.test.ts',
    ],
  },
  codes: {
    mutate: ['authorization-server/src/token/authorization-code.ts'],
    tests: [`${TESTS}/{authorization-code,authorization-code-errors,authorization-code-reuse}.test.ts`],
  },
  refresh: {
    mutate: [
      'authorization-server/src/token/refresh-token.ts',
      'authorization-server/src/token/refresh-token-family.ts',
    ],
    tests: [`${TESTS}/{refresh,refresh-errors,refresh-token-family,shared-rate-limits}.test.ts`],
  },
  clients: {
    mutate: [
      'authorization-server/src/clients/verify-client-credentials.ts',
      'authorization-server/src/clients/read-client-credentials.ts',
    ],
    tests: [`${TESTS}/{client-authentication,client-assertions,client-credential-reading}.test.ts`],
  },
  assertions: {
    mutate: ['authorization-server/src/clients/verify-client-assertion.ts'],
    tests: [`${TESTS}/client-assertions.test.ts`],
  },
  /** Clients that register, and that manage what they registered. */
  registrations: {
    mutate: [
      'authorization-server/src/clients/authorize-registration.ts',
      'authorization-server/src/clients/manage-registration.ts',
    ],
    tests: [
      `${TESTS}/{registration,registration-management,client-life,client-assertions,administered-clients}.test.ts`,
    ],
  },
  /** Clients that are named by the address of a document. */
  documents: {
    mutate: [
      'authorization-server/src/clients/metadata-document/document-url.ts',
      'authorization-server/src/clients/metadata-document/document-rules.ts',
      'authorization-server/src/clients/metadata-document/http-cache-freshness.ts',
    ],
    tests: [`${TESTS}/{client-documents,hostile-input}.test.ts`],
  },
  /** Where the refusal of an authorization request goes. */
  requests: {
    mutate: [
      'authorization-server/src/authorize/refuse-request.ts',
      'authorization-server/src/authorize/access.ts',
    ],
    tests: [`${TESTS}/{authorize,consent,client-documents,client-life}.test.ts`],
  },
  /** How tokens end, and who may ask about them. */
  ends: {
    mutate: ['authorization-server/src/revocation.ts', 'authorization-server/src/introspection.ts'],
    tests: [`${TESTS}/{revocation,introspection,opaque-tokens}.test.ts`],
  },
};
