/** Explains why the client stopped: the violated rule, or who is responsible and how to fix it. */
import type { ClientError, ClientErrorCode } from '@portcullis/client';
import type { Finding, ResponsibleParty, StepName } from './report.ts';
import { type RuleName, ruleOf } from './rules.ts';

/** `the server`: the one that the step examines. */
type Explanation = RuleName | readonly [owner: ResponsibleParty | 'the server', remedy: string];

const SETTINGS: Explanation = ['you', 'Correct the options.'];

const explanations: Readonly<Record<ClientErrorCode, Explanation>> = {
  configuration_invalid: SETTINGS,
  store_unusable: SETTINGS,
  server_url_invalid: ['you', 'Pass the https URL of the server.'],
  unreachable: ['network', 'Check that the address is right and the server is running.'],
  temporarily_unavailable: ['the server', 'Find out why it is unavailable, and try again.'],
  address_refused: ['network', 'Pass --trust-origin if the private address is intended.'],
  insecure_url: 'AS-HTTPS-1',
  redirected: ['the server', 'Serve the document where clients look for it.'],
  response_too_large: ['the server', 'Send a smaller document.'],
  metadata_missing: 'AS-META-20',
  metadata_invalid: 'AS-META-3',
  resource_mismatch: 'S-PRM-64',
  issuer_mismatch: 'AS-META-60',
  endpoint_refused: [
    'the server',
    'Keep it at the same origin, or have every client trust the other origin (--trust-origin).',
  ],
  pkce_unsupported: 'AS-META-62',
  registration_needed: ['you', 'Register a client manually and pass it as --client-id.'],
  registration_refused: 'AS-DCR-60',
  registration_issuer_mismatch: ['you', 'Pass the client that is registered with this issuer.'],
  sign_in_needed: ['you', 'Run it where a browser is available.'],
  authorization_url_refused: 'AS-HTTPS-1',
  authorization_denied: ['you', 'Allow the request, as a user who may sign in there.'],
  authorization_failed: 'AS-AUTHZ-1',
  response_rejected: 'AS-ISS-60',
  cancelled: ['you', 'Run it in a terminal, and finish signing in before the timeout.'],
  token_refused: 'AS-TOK-64',
  token_response_invalid: 'AS-TOK-64',
};

/** Messages that say more than the code. */
const SPECIFIC: readonly (readonly [ClientErrorCode, RegExp, Explanation])[] = [
  ['unreachable', /\bits certificate\b/, ['network', 'Serve a certificate that this computer trusts.']],
  ['metadata_invalid', /authorization_servers/, 'S-PRM-2'],
  ['metadata_invalid', /\bresource: /, 'S-PRM-60'],
  ['metadata_invalid', /bearer_methods_supported/, ['server', 'List header there, or omit the list.']],
  ['metadata_invalid', /must (?:use|be an absolute) https/, 'AS-HTTPS-1'],
  ['metadata_invalid', /has no \w+ endpoint/, 'AS-META-61'],
  ['registration_refused', /no client_id/, 'AS-DCR-61'],
];

/** Errors in what the protected server says. */
const AT_SERVER: Partial<Record<ClientErrorCode, Explanation>> = {
  insecure_url: ['server', 'Serve it over https.'],
  metadata_missing: 'S-PRM-20',
  metadata_invalid: 'S-PRM-62',
};

export function describeClientError(step: StepName, error: ClientError): Finding {
  const { code, message, temporary } = error;
  const isAtServer = step === 'request' || step === 'resource metadata' || step === 'call';
  const explanation =
    SPECIFIC.find(([specific, pattern]) => specific === code && pattern.test(message))?.[2] ??
    (isAtServer ? AT_SERVER[code] : undefined) ??
    explanations[code];
  const finding = { step, severity: 'error', message, temporary, revisions: [] } as const;
  if (typeof explanation === 'string') {
    const { owner, remedy } = ruleOf(explanation);
    return { ...finding, requirement: explanation, owner, remedy };
  }
  const [party, remedy] = explanation;
  const examined = isAtServer ? 'server' : 'authorization server';
  return { ...finding, requirement: null, owner: party === 'the server' ? examined : party, remedy };
}
