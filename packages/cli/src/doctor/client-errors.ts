/** Explains why the client stopped: the responsible party, which requirement applies, and how to fix it. */
import type { ClientError, ClientErrorCode } from '@portcullis/client';
import type { Finding, ResponsibleParty, StepName } from './report.ts';

type Explanation = readonly [owner: ResponsibleParty, requirement: string | null, remedy: string];

const AGAIN = 'Find out why it is unavailable, and try again.';
const CERTIFICATE = 'Serve a certificate that this computer trusts.';
const SETTINGS = 'Correct the options.';

const AS = 'authorization server';

const explanations: Readonly<Record<ClientErrorCode, Explanation>> = {
  configuration_invalid: ['you', null, SETTINGS],
  server_url_invalid: ['you', null, 'Pass the https URL of the server.'],
  unreachable: ['network', null, 'Check that the address is right and the server is running.'],
  temporarily_unavailable: ['server', null, AGAIN],
  address_refused: ['network', null, 'Pass --trust-origin if the private address is intended.'],
  insecure_url: [AS, 'AS-HTTPS-1', 'Serve it over https.'],
  redirected: ['server', null, 'Serve the document where clients look for it.'],
  response_too_large: ['server', null, 'Send a smaller document.'],
  metadata_missing: [AS, 'AS-META-20', 'Serve metadata at a well-known location.'],
  metadata_invalid: [AS, 'AS-META-3', 'Serve a document that conforms to the specification.'],
  resource_mismatch: ['server', 'S-PRM-64', 'Set resource to the URL of the server.'],
  issuer_mismatch: [AS, 'AS-META-60', 'Use one issuer everywhere, byte for byte.'],
  endpoint_refused: [
    AS,
    null,
    'Keep the endpoints at the origin of the issuer, or have every client trust the other origin (--trust-origin).',
  ],
  pkce_unsupported: [AS, 'AS-META-62', 'List S256 in code_challenge_methods_supported.'],
  registration_needed: ['you', null, 'Register a client manually and pass it as --client-id.'],
  registration_refused: [
    AS,
    'AS-DCR-60',
    'Allow public native clients with the authorization code grant to register.',
  ],
  registration_issuer_mismatch: ['you', null, 'Pass the client that is registered with this issuer.'],
  sign_in_needed: ['you', null, 'Run it where a browser is available.'],
  authorization_url_refused: [AS, 'AS-HTTPS-1', 'Serve the sign-in page over https.'],
  authorization_denied: ['you', null, 'Allow the request, as a user who may sign in there.'],
  authorization_failed: [AS, 'AS-AUTHZ-1', 'Accept authorization requests of registered clients.'],
  response_rejected: [AS, 'AS-ISS-60', 'Return state and iss as the specification requires.'],
  cancelled: ['you', null, 'Run it in a terminal, and finish signing in before the timeout.'],
  token_refused: [AS, 'AS-TOK-64', 'Accept codes issued by the authorization endpoint.'],
  token_response_invalid: [AS, 'AS-TOK-64', 'Send token responses that conform to the specification.'],
  store_unusable: ['you', null, SETTINGS],
};

export function describeClientError(step: StepName, error: ClientError): Finding {
  const [usualOwner, usualRequirement, usualRemedy] = explanations[error.code];
  const remedy = /\bits certificate\b/.test(error.message) ? CERTIFICATE : usualRemedy;
  // The same error can occur at either server.
  const atServer = usualOwner === AS && ['request', 'resource metadata', 'call'].includes(step);
  return {
    step,
    requirement: atServer ? serverRequirement(usualRequirement) : usualRequirement,
    severity: 'error',
    owner: atServer ? 'server' : usualOwner,
    message: error.message,
    remedy,
    temporary: error.temporary,
    revisions: [],
  };
}

function serverRequirement(requirement: string | null): string | null {
  if (requirement === 'AS-META-20') return 'S-PRM-20';
  return requirement === 'AS-META-3' ? 'S-PRM-62' : null;
}
