/** Mutation targets: the sources to mutate and the tests that must fail, as paths below `packages`. */

interface MutationTarget {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}

export const mutationTargets: Readonly<Record<string, MutationTarget>> = {
  /** Redirect matching and PKCE. */
  protocol: {
    mutate: [
      'protocol/src/redirect-uri.ts',
      'protocol/src/pkce.ts',
      'protocol/src/messages/authorization-header.ts',
    ],
    tests: testFiles(
      'protocol',
      'redirect-uri',
      'redirect-uri-reasons',
      'pkce',
      'authorization-header',
      'authorization-request',
      'token-request',
    ),
  },
  codes: {
    mutate: ['authorization-server/src/token/authorization-code.ts'],
    tests: testFiles(
      'authorization-server',
      'authorization-code',
      'authorization-code-errors',
      'authorization-code-reuse',
      'dpop',
    ),
  },
  refresh: {
    mutate: [
      'authorization-server/src/token/refresh-token.ts',
      'authorization-server/src/token/refresh-token-family.ts',
    ],
    tests: testFiles(
      'authorization-server',
      'refresh',
      'refresh-errors',
      'refresh-token-family',
      'dpop',
      'shared-rate-limits',
    ),
  },
  clients: {
    mutate: [
      'authorization-server/src/clients/verify-client-credentials.ts',
      'authorization-server/src/clients/read-client-credentials.ts',
    ],
    tests: testFiles(
      'authorization-server',
      'client-authentication',
      'client-assertions',
      'client-credential-reading',
      'administered-clients',
    ),
  },
  assertions: {
    mutate: [
      'authorization-server/src/clients/verify-client-jwt.ts',
      'authorization-server/src/clients/verify-jwt.ts',
    ],
    tests: testFiles('authorization-server', 'client-assertions'),
  },
  /** Dynamic client registration and its management. */
  registrations: {
    mutate: [
      'authorization-server/src/clients/authorize-registration.ts',
      'authorization-server/src/clients/manage-registration.ts',
    ],
    tests: testFiles(
      'authorization-server',
      'registration',
      'registration-management',
      'client-life',
      'client-assertions',
      'administered-clients',
    ),
  },
  /** Client ID metadata documents. */
  documents: {
    mutate: [
      'authorization-server/src/clients/metadata-document/document-url.ts',
      'authorization-server/src/clients/metadata-document/document-rules.ts',
      'authorization-server/src/clients/metadata-document/http-cache-freshness.ts',
    ],
    tests: testFiles('authorization-server', 'client-documents', 'hostile-input'),
  },
  /** Error responses to authorization requests, and the scopes and audience of a request. */
  requests: {
    mutate: [
      'authorization-server/src/authorization/error-response.ts',
      'authorization-server/src/authorization/resolve-scopes.ts',
    ],
    tests: testFiles('authorization-server', 'authorize', 'client-documents', 'client-life', 'scope-limits'),
  },
  /** The evaluator of access rules, and what it reads. */
  policy: {
    mutate: [
      'policy/src/decide-access.ts',
      'policy/src/members.ts',
      'policy/src/access-condition.ts',
      'policy/src/call-arguments.ts',
      'policy/src/request.ts',
      'policy/src/rule.ts',
    ],
    tests: testFiles('policy', 'decide-access', 'access-condition', 'call-arguments', 'conditions'),
  },
  /** Revocation and introspection. */
  revocation: {
    mutate: ['authorization-server/src/revocation.ts', 'authorization-server/src/introspection.ts'],
    tests: testFiles(
      'authorization-server',
      'revocation',
      'introspection',
      'opaque-tokens',
      'personal-access-tokens',
      'dpop',
      'routes',
    ),
  },
};

function testFiles(packageName: string, ...names: readonly string[]): readonly string[] {
  return names.map((name) => `${packageName}/test/${name}.test.ts`);
}
