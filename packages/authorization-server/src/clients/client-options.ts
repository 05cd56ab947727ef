/** Options of pre-registered clients: RFC 7591 metadata with `client_id` and `client_secret`. */
import { OAuthError, type RedirectPolicy, readScopes } from '@portcullis/protocol';
import type * as z from 'zod';
import {
  boolean,
  custom,
  list,
  type OptionReport,
  object,
  oneOf,
  optional,
  record,
  required,
  secret,
  text,
} from '../option-schema.ts';
import type { ConfiguredClient } from './client.ts';
import { readConfiguredClient } from './configured-clients.ts';

/** Client metadata as configured. @see RFC 7591 §2 */
export interface ClientDefinition {
  readonly client_id: string;
  readonly client_secret?: string;
  /** The secret before a rotation, accepted beside `client_secret`: remove it when every instance of the client has the new one. */
  readonly previous_client_secret?: string;
  readonly client_name?: string;
  readonly redirect_uris?: readonly string[];
  readonly grant_types?: readonly string[];
  readonly response_types?: readonly string[];
  readonly scope?: string;
  readonly token_endpoint_auth_method?: string;
  readonly token_endpoint_auth_signing_alg?: string;
  readonly application_type?: 'web' | 'native';
  readonly jwks?: object;
  readonly jwks_uri?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly software_id?: string;
  readonly software_version?: string;
  readonly dpop_bound_access_tokens?: boolean;
  readonly require_pushed_authorization_requests?: boolean;
  readonly require_signed_request_object?: boolean;
  readonly request_object_signing_alg?: string;
}

/** @param minimumSecret characters of a client secret */
export function clientsSchema(minimumSecret = 1): z.ZodType<readonly ClientDefinition[]> {
  const url = (description: string) => optional(text('a URL'), description);
  return list(
    object<ClientDefinition>({
      client_id: required(text(), 'client identifier'),
      client_secret: optional(secret(minimumSecret), 'client secret', {
        defaultText: 'none: a public client',
      }),
      previous_client_secret: optional(
        secret(minimumSecret),
        'client secret before a rotation, accepted beside `client_secret` until you remove it',
      ),
      client_name: optional(text(), 'display name', { defaultText: 'its identifier' }),
      redirect_uris: optional(list(text('a URI')), 'redirect URIs'),
      grant_types: optional(
        list(text()),
        '`authorization_code`, `refresh_token`, `client_credentials`, …; `[]` for a client that only introspects',
        {
          defaultText: '`authorization_code`',
        },
      ),
      response_types: optional(list(text()), '`code`', { defaultText: 'what the grant types need' }),
      scope: optional(text('a string of scopes'), 'maximum scope, separated by spaces', {
        defaultText: 'no limit where a user consents, no scope with `client_credentials`',
      }),
      token_endpoint_auth_method: optional(
        text(),
        '`client_secret_basic`, `client_secret_post`, `private_key_jwt` or `none`',
        { defaultText: '`client_secret_basic` with a secret, else `none`' },
      ),
      token_endpoint_auth_signing_alg: optional(text(), 'the only algorithm of its assertions', {
        defaultText: 'any',
      }),
      application_type: optional(oneOf('web', 'native'), 'kind of application', {
        defaultText: 'what its redirect URIs say',
      }),
      jwks: optional(
        record(
          custom<unknown>('any value', () => true),
          'an object',
        ),
        'public keys',
      ),
      jwks_uri: url('URL of its public keys'),
      client_uri: url('home page'),
      logo_uri: url('logo: PNG, JPEG or WebP of at most 64 KiB, which this server fetches and shows'),
      tos_uri: url('terms of service'),
      policy_uri: url('privacy policy'),
      contacts: optional(list(text()), 'contacts'),
      software_id: optional(text(), 'identifier of the software'),
      software_version: optional(text(), 'version of the software'),
      require_pushed_authorization_requests: optional(
        boolean(),
        'whether its authorization requests must be pushed (RFC 9126)',
        { defaultText: 'false' },
      ),
      require_signed_request_object: optional(
        boolean(),
        'whether its authorization requests must be signed (RFC 9101)',
        { defaultText: 'false' },
      ),
      request_object_signing_alg: optional(text(), 'the only algorithm of its signed requests', {
        defaultText: 'any',
      }),
      dpop_bound_access_tokens: optional(boolean(), 'whether it gets DPoP-bound tokens only', {
        defaultText: 'false',
      }),
    }),
  );
}

/**
 * Validates pre-registered clients.
 * @param scopes of all resources; `null`: not known
 */
export function validateClients(
  definitions: readonly ClientDefinition[],
  redirects: RedirectPolicy,
  scopes: ReadonlySet<string> | null,
  report: OptionReport,
): ReadonlyMap<string, ConfiguredClient> {
  const clients = new Map<string, ConfiguredClient>();
  for (const [index, definition] of definitions.entries()) {
    if (definition === undefined) continue;
    const path = ['clients', String(index)];
    const client = readClient(definition, redirects, path, report);
    if (client === null) continue;
    if (clients.has(client.id)) report.add([...path, 'client_id'], `duplicate client ${client.id}`);
    for (const scope of readScopes(client.metadata.scope ?? '')) {
      if (scopes?.has(scope) !== false) continue;
      report.add([...path, 'scope'], `unknown scope ${JSON.stringify(scope)}; no resource defines it`);
    }
    clients.set(client.id, client);
  }
  return clients;
}

/** Reads a client again without each member that is refused, so that every issue is reported. */
function readClient(
  definition: object,
  redirects: RedirectPolicy,
  path: readonly string[],
  report: OptionReport,
): ConfiguredClient | null {
  let rest = definition;
  for (;;) {
    try {
      return readConfiguredClient(rest, redirects);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const issues = error.description.split(/; (?=[a-z]+_|scope|jwks|contacts)/).map(splitMember);
      const members = issues.map(({ member }) => member?.split('.')[0] ?? '');
      // Response types follow from grant types.
      if (members.includes('grant_types')) members.push('response_types');
      const remaining = Object.entries(rest).filter(([name]) => !members.includes(name));
      const isPruned = remaining.length < Object.keys(rest).length;
      // An issue of a missing member may follow from one that was removed.
      for (const { member, message } of rest === definition || isPruned ? issues : []) {
        const at = [...path, ...(member?.split('.') ?? [])];
        if (!report.isUnread(...at)) report.add(at, message);
      }
      if (!isPruned) return null;
      rest = Object.fromEntries(remaining);
    }
  }
}

const MEMBER = /^([a-z]+_[a-z_]+(?:\.\d+)?|scope|jwks|contacts):? (.*)$/s;

/** `redirect_uris.0: must not …` */
function splitMember(sentence: string): { readonly member: string | null; readonly message: string } {
  const [, member = null, message = sentence] = MEMBER.exec(sentence) ?? [];
  return { member, message };
}
