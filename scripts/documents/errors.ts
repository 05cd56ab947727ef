/** docs/errors.md: the codes of `OAuthError` and of JSON-RPC, and the error pages from their texts. */
import { readFileSync } from 'node:fs';
import { errorCodes } from '@portcullis/http';
import { OAuthError, type OAuthErrorCode } from '@portcullis/protocol';
import { table } from './markdown.ts';

/** When a code is sent, and what to do about it. The type refuses a code that is missing or unknown. */
const OAUTH: Readonly<Record<OAuthErrorCode, readonly [when: string, action: string]>> = {
  invalid_request: [
    'a parameter is missing, repeated, too long or malformed',
    'fix the parameter that `error_description` names',
  ],
  invalid_client: [
    'an unknown client, a wrong secret or assertion, or another authentication method than the registered one',
    'register again, or use the registered method; `portcullis clients list`',
  ],
  invalid_grant: [
    'a code or token that is expired, used, revoked, or issued to another client or redirect URI; a wrong `code_verifier`',
    'sign in again; the reason is in the audit log',
  ],
  unauthorized_client: ['the client is not registered for this grant type', 'add it to `grant_types`'],
  unsupported_grant_type: ['this server does not serve the grant type', 'see `grant_types_supported`'],
  invalid_scope: [
    'a scope is unknown for the resource, or exceeds what was granted',
    'request scopes of `scopes_supported`',
  ],
  access_denied: [
    'the user declined, or may not use this server; 400 at the token endpoint, where devices poll',
    'ask the user',
  ],
  unsupported_response_type: ['another `response_type` than `code`', 'send `response_type=code`'],
  server_error: ['an error of this server', 'look for `request.failed` in the audit log'],
  temporarily_unavailable: [
    'the database or an identity provider does not respond (503), or a rate limit (429)',
    'try again after `Retry-After` seconds',
  ],
  invalid_target: [
    '`resource` or `audience` names no resource of this server, or one that this client cannot use',
    'send the `resource` of the protected resource metadata',
  ],
  authorization_pending: ['the user has not decided yet', 'poll again after `interval` seconds'],
  slow_down: ['the device polls too often', 'wait five seconds longer between polls'],
  expired_token: ['the device code has expired', 'start again'],
  invalid_request_object: [
    'a signed request with a wrong signature or claim',
    'fix the claim that `error_description` names',
  ],
  invalid_request_uri: ['a pushed request that is unknown, expired or used', 'push the request again'],
  request_not_supported: ['a signed request where none is read', 'send its parameters by themselves'],
  request_uri_not_supported: [
    'a `request_uri` that is not of a pushed request: none is fetched',
    'push the request, or send it by value as `request`',
  ],
  invalid_token: [
    'a token that is expired, revoked, malformed, or for another resource',
    'refresh it, then sign in again',
  ],
  insufficient_scope: [
    'the token lacks a scope that the challenge names',
    'request these scopes; clients with step-up do so themselves',
  ],
  insufficient_user_authentication: [
    'the login is too old or has too few factors',
    'authorize again with the `max_age` and `acr_values` of the challenge',
  ],
  invalid_dpop_proof: [
    'a proof with a wrong key, method, URL, time or hash, or a repeated one',
    'create a proof for each request; check the clock',
  ],
  use_dpop_nonce: [
    'the proof needs a nonce of this server',
    'repeat the request with the nonce in `DPoP-Nonce`',
  ],
  invalid_redirect_uri: ['a redirect URI that this server does not allow', 'use https, or http on loopback'],
  invalid_client_metadata: [
    'client metadata that is not valid',
    'fix the member that `error_description` names',
  ],
  invalid_software_statement: ['a software statement with a wrong signature or claim', 'ask its issuer'],
  unapproved_software_statement: [
    'a software statement of an issuer that is not trusted here',
    'ask the operator',
  ],
  unsupported_token_type: [
    'never sent by this server; the client library accepts it from others',
    'no action',
  ],
  login_required: [
    '`prompt=none`, and no user is signed in, or not as the request requires',
    'repeat without `prompt=none`',
  ],
  consent_required: ['`prompt=none`, and the user has not consented', 'repeat without `prompt=none`'],
  interaction_required: [
    'never sent by this server; the client library accepts it from others',
    'repeat without `prompt=none`',
  ],
  unmet_authentication_requirements: [
    'the user cannot meet `acr_values`',
    'the user has to set up a second factor first',
  ],
};

const JSON_RPC: Readonly<Record<keyof typeof errorCodes, string>> = {
  parseError: 'not JSON, or JSON that parsers could read in two ways',
  invalidRequest:
    'not a JSON-RPC message, one that parsers could read in two ways, or a response that no request waits for',
  methodNotFound:
    'the server behind the gateway, or the client, does not know the method; also a question that the client cannot answer',
  invalidParams:
    'an unknown name, an answer that does not fit the question, or a resource that does not exist',
  internal:
    'the backend asked for something that the client has not declared; with the status 429, 502 or 503: the request cannot be served now, for the reason in the message; a call that may have been executed is 502 without `Retry-After`',
  unavailable:
    'the backend did not answer, and the message names it: where the gateway translates, runs a process or merges; elsewhere this is a 503 with `-32603` (a call that may have been executed: 502)',
  sessionNotFound: 'no such session: initialize again',
  resourceNotFound: 'no such resource, where client and backend are of revisions before 2026-07-28',
  forbidden: 'the operation is not available to this user and client, or its call was not approved',
  headerMismatch: 'a header such as `Mcp-Method` differs from the body, or is missing',
  missingClientCapability: 'the request needs a capability that the client did not declare',
  unsupportedVersion:
    'the revision is not supported; `data.supported` lists those that requests may name, not those of `initialize`',
  urlElicitationRequired: 'a user has to open the page in `data` first, in revisions before 2026-07-28',
};

/** The error pages, by the names of their texts. */
function pages(): readonly (readonly string[])[] {
  const url = new URL('../../packages/authorization-server/src/ui/texts/en.json', import.meta.url);
  const texts: Readonly<Record<string, string>> = JSON.parse(readFileSync(url, 'utf8'));
  return Object.keys(texts)
    .filter((name) => /^error\.[a-z-]+$/.test(name) && `${name}.1` in texts)
    .map((name) => {
      const sentences = Object.keys(texts).filter((key) => key.startsWith(`${name}.`) && /\.\d$/.test(key));
      return [texts[name] ?? '', sentences.map((key) => texts[key]).join(' ')];
    });
}

const oauthRows = Object.entries(OAUTH).map(([code, [when, action]]) => [
  `\`${code}\``,
  String(new OAuthError(code as OAuthErrorCode, '').status),
  when,
  action,
]);

/** The whole page, in Markdown. */
export function errorsPage(): string {
  const rpc = Object.entries(JSON_RPC).map(([name, when]) => [
    `\`${errorCodes[name as keyof typeof errorCodes]}\``,
    when,
  ]);
  return `# Errors

What the authorization server, the guard and the gateway answer when they refuse. This page is generated from the code (\`npm run documents\`).

An error of an endpoint is JSON; one of the guard is a challenge in \`WWW-Authenticate\`; one of \`/authorize\` is sent to the client's redirect URI, and shown as a page if that is not known to be the client's, or if the request object or \`request_uri\` cannot be used, since the redirect URI is part of it:

\`\`\`json
{ "error": "invalid_grant", "error_description": "The refresh token is expired, revoked or unknown." }
\`\`\`

\`error_description\` says what to do. Why exactly a request was refused is in the [audit log](events.md) only: \`portcullis events --type request.rejected\`, or with the reference of an error page \`portcullis events --reference …\`.

## OAuth error codes

The status is the usual one; a challenge of the guard is 401 or 403, and an unexpected error 500.

${table(['error', 'status', 'when', 'what to do'], oauthRows)}

## Pages

What users see instead, each with a reference for \`portcullis events --reference\`:

${table(['page', 'text'], pages())}

## JSON-RPC errors

Of the [gateway](gateway.md), in the body of a response. Errors of the backend pass unchanged, unless its revision is [another than the client's](gateway.md#between-revisions).

${table(['code', 'when'], rpc)}

\`-32000\` to \`-32003\` are in the range that 2026-07-28 leaves to earlier implementations, and are the same for clients of all revisions: the official SDKs send \`-32000\` and \`-32001\` for the same, and the HTTP status 403 says what \`-32003\` does. An error that belongs to no request has \`id: null\`, as JSON-RPC 2.0 says and the official SDKs send it.

HTTP statuses of the gateway: [gateway.md](gateway.md#when-something-fails). Exit codes of the command: [@portcullis/cli](../packages/cli/README.md).
`;
}
