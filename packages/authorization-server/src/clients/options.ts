/** The options of clients: pre-registered, registered, and known by a metadata document. */
import { type RedirectPolicy, validateRedirectUri } from '@portcullis/protocol';
import * as z from 'zod';
import type { ServerContext } from '../context.ts';
import { checkedText, list, option, optionMeta } from '../option-schema/fields.ts';
import { readDefaults } from '../option-schema/reader.ts';
import type { ConfiguredClient } from './client.ts';
import { type ClientDefinition, clientSchema } from './client-options.ts';
import { type DocumentPolicy, documentSchema } from './metadata-document/options.ts';
import { type Outbound, outboundSchema } from './metadata-document/outbound-settings.ts';
import { type RegistrationRules, registrationSchema } from './registration-options.ts';

export const clientPolicyOptions = {
  clients: option(() => list(clientSchema() as z.ZodType<ClientDefinition, object>), {
    default: [],
    section: 'Clients',
    description:
      'pre-registered clients: RFC 7591 metadata with client_id and, for confidential clients, client_secret',
    note: '`portcullis clients add` stores clients in the database instead. Read again on SIGHUP and when the configuration file changes.',
  }),
  /** @see RFC 7591, RFC 7592 */
  registration: option(() => z.union([z.boolean(), registrationSchema()]), {
    default: true,
    section: 'Clients',
    description: 'whether clients may register dynamically, and the rules (RFC 7591)',
    defaultText: 'anyone may register',
  }),
  metadataDocuments: option(() => z.union([z.boolean(), documentSchema()]), {
    default: true,
    section: 'Clients',
    description: 'whether client ID metadata documents are accepted, and from which hosts',
    defaultText: 'from any host',
  }),
  outbound: option(outboundSchema, {
    default: readDefaults(outboundSchema()),
    section: 'Clients',
    description: 'requests to hosts that clients name, for their documents and keys (SSRF protection)',
    defaultText: 'public hosts only, over https',
  }),
  /** @see RFC 8252 §7.1 */
  privateUseSchemes: option(
    () =>
      z
        .union([z.literal(false), list(schemeSchema())])
        .register(optionMeta, { kind: 'an array of schemes, or false' }),
    {
      default: [],
      section: 'Clients',
      description:
        'private-use URI schemes that redirect URIs may have, such as `myapp`; `false` allows none at all',
      defaultText: 'only the redirect URIs of well-known hosts',
      note: 'The redirect URIs of Cursor, Warp, Cline and Raycast are allowed unless this is `false`; VS Code, Claude, ChatGPT, Windsurf and Zed use https or loopback. A redirect URI of another private-use scheme is dropped from a registration as long as another URI remains: the response lists it in `dropped_redirect_uris`, the event `client.registered` in `droppedRedirectUris`. A malformed or dangerous one refuses the registration.',
    },
  ),
};

/** The options of clients, checked. */
export interface ClientPolicyOptions {
  readonly clients: ReadonlyMap<string, ConfiguredClient>;
  /** `null`: registration is off. */
  readonly registration: RegistrationRules | null;
  /** Which client ID metadata documents are trusted; `null`: none. */
  readonly metadataDocuments: DocumentPolicy | null;
  readonly outbound: Outbound;
  readonly redirects: RedirectPolicy;
  readonly deviceAuthorization: boolean;
}

function schemeSchema() {
  return checkedText('a private-use URI scheme such as `cursor`', (name) =>
    !/^[a-z][a-z0-9+.-]*$/.test(name)
      ? 'must be a URI scheme in lower case, without a colon (RFC 8252 §7.1)'
      : validateRedirectUri(`${name}://callback`, { privateUseSchemes: [name] }).kind === 'private-use'
        ? null
        : 'must be a private-use URI scheme: no setting allows this one',
  );
}

export type ClientsContext = ServerContext<ClientPolicyOptions>;
