/** The shapes of what is said of clients: those that are known, those that register, those that name a document. */
import type {
  DocumentOptions,
  OutboundSettings,
  RegistrationOptions,
} from '@portcullis/authorization-server';
import { secret } from '../secret-shape.ts';
import { oneOf, type Shape, text, textIn, wholeNumber, yesOrNo } from '../shapes.ts';
import { document, listOf, MUST, object } from '../structured-shapes.ts';
import { address } from '../words.ts';

/** 128 bits in base64url. */
const SHORTEST_SECRET = 22;

/** RFC 7591 metadata: what its members are worth is judged by the server, which knows which go together. */
type ClientSetting = {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_name?: string;
  readonly redirect_uris?: readonly string[];
  readonly grant_types?: readonly string[];
  readonly response_types?: readonly string[];
  readonly scope?: string;
  readonly token_endpoint_auth_method?: string;
  readonly token_endpoint_auth_signing_alg?: string;
  readonly application_type?: string;
  readonly jwks?: Readonly<Record<string, unknown>>;
  readonly jwks_uri?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly software_id?: string;
  readonly software_version?: string;
};

const page = (what: string) => ({ what, shape: address, otherwise: 'none' });

export const client: Shape<Readonly<Record<string, unknown>>> = object<ClientSetting>({
  client_id: { what: 'its identifier', shape: text, otherwise: MUST },
  client_secret: { what: 'its secret', shape: secret(SHORTEST_SECRET), otherwise: 'none: a public client' },
  client_name: { what: 'what people call it', shape: text, otherwise: 'its identifier' },
  redirect_uris: { what: 'where codes may be sent', shape: listOf(address), otherwise: 'none' },
  grant_types: {
    what: '`authorization_code`, `refresh_token`, `client_credentials`',
    shape: listOf(text),
    otherwise: '`authorization_code`',
  },
  response_types: { what: '`code`', shape: listOf(text), otherwise: 'what the grant types need' },
  scope: {
    what: 'all that it can ever get, with spaces in between',
    shape: textIn('scopes'),
    otherwise: 'no limit',
  },
  token_endpoint_auth_method: {
    what: 'how it proves itself: `client_secret_basic`, `client_secret_post`, `private_key_jwt` or `none`',
    shape: text,
    otherwise: '`client_secret_basic` with a secret, else `none`',
  },
  token_endpoint_auth_signing_alg: {
    what: 'the only algorithm of its assertions',
    shape: text,
    otherwise: 'any',
  },
  application_type: {
    what: '`web` or `native`',
    shape: oneOf('web', 'native'),
    otherwise: 'what its redirect URIs say',
  },
  jwks: { what: 'its public keys', shape: document, otherwise: 'none' },
  jwks_uri: { what: 'where they stand', shape: address, otherwise: 'none' },
  client_uri: page('its home page'),
  logo_uri: page('its logo, which no page of ours loads'),
  tos_uri: page('its terms'),
  policy_uri: page('its privacy notice'),
  contacts: { what: 'who answers for it', shape: listOf(text), otherwise: 'none' },
  software_id: { what: 'which software it is', shape: text, otherwise: 'none' },
  software_version: { what: 'in which version', shape: text, otherwise: 'none' },
});

export const registration: Shape<RegistrationOptions> = object<RegistrationOptions>({
  initialAccessTokens: {
    what: 'who registers has to present one of these as a bearer token',
    shape: listOf(secret(SHORTEST_SECRET), 1),
    otherwise: 'anybody may register',
  },
  requireInitialAccessToken: {
    what: 'whether who registers has to present one of those, or an invitation (`portcullis clients invite`)',
    shape: yesOrNo,
    otherwise: '`true` with `initialAccessTokens`, else `false`',
  },
  scope: {
    what: 'whether the scope that a client registers is a `ceiling` for all that it can get, or a `hint`',
    shape: oneOf('ceiling', 'hint'),
    otherwise: '`hint`',
  },
  maxUnusedClients: {
    what: 'how many registrations may wait for their first token',
    shape: wholeNumber(1, 100_000_000),
    otherwise: '20000',
  },
  management: {
    what: 'whether clients may read, change and delete their registrations (RFC 7592)',
    shape: yesOrNo,
    otherwise: 'true',
  },
});

const hosts = listOf(textIn('a host such as `app.example` or `*.app.example`'));

export const metadataDocuments: Shape<DocumentOptions> = object<DocumentOptions>({
  hosts: { what: 'only documents on these hosts', shape: hosts, otherwise: 'any host' },
  refusedHosts: { what: 'never documents on these', shape: hosts, otherwise: 'none' },
});

export type OutboundSetting = Pick<OutboundSettings, 'allowLoopback' | 'timeout'>;

export const outbound: Shape<OutboundSetting> = object<OutboundSetting>({
  allowLoopback: {
    what: 'whether hosts on this computer may be asked, also over http: for development',
    shape: yesOrNo,
    otherwise: 'false',
  },
  timeout: {
    what: 'milliseconds for a whole exchange',
    shape: wholeNumber(1, 600_000, 'milliseconds'),
    otherwise: '5000',
  },
});
