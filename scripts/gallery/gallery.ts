/** A server with everything that its pages can show, on loopback with an in-memory store. */
import { createHash, createHmac } from 'node:crypto';
import {
  type AuthorizationEvent,
  type AuthorizationServer,
  createAuthorizationServer,
} from '@portcullis/authorization-server';
import { listen } from '@portcullis/http/node';
import { openStore } from '@portcullis/store';
import { type Connecting, createGalleryBackends } from './backends.ts';

export const PASSWORD = 'a gate of oak and iron';
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CALLBACK = 'http://127.0.0.1:51004/callback';

export interface Gallery {
  readonly issuer: string;
  /** The setup link while there is no account yet. */
  readonly setupLink: string | null;
  /** Dynamically registered clients: one with a short name, one with a long one. */
  readonly other: string;
  readonly talker: string;
  /** The resource that has workspaces. */
  readonly board: string;
  /** An invitation link of a user who has not signed in yet. */
  readonly invitation: string;
  /** A reset link of a user who cannot sign in. */
  readonly reset: string;
  /** How connections at backends end from now on. */
  connecting: Connecting;
  /** The link of an error: to the page that connects an account for the last grant. */
  connectLink(scopes?: readonly string[]): Promise<string>;
  /** The page of a call that Ada's app wants to make. @param groups whose users decide; Ada without them */
  requestApproval(groups?: readonly string[]): Promise<string>;
  /** The link "this was not me" of a mail about Ada's account. @param details of the event */
  noticeLink(type: string, details?: Readonly<Record<string, string>>): Promise<string>;
  /** The link that the last request for a sign-in link leads to. */
  signInLink(): string;
  /** Creates an account with its account link. */
  invite(email: string): Promise<string>;
  /** The current TOTP code of a secret. */
  codeOf(secret: string): string;
  /** The code that a device shows. */
  deviceCode(): Promise<string>;
  /** The URL at which an app would open the browser. */
  url(parameters: Readonly<Record<string, string>>): string;
  /** Obtains the token that a user consented to. */
  redeem(location: URL, clientId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * What the server has: nothing yet, accounts, accounts and identity providers, one identity provider and no account yet, identity
 * providers only, or accounts and backends at which users connect accounts of their own.
 */
export type GalleryKind = 'empty' | 'full' | 'both' | 'company' | 'elsewhere' | 'linked';

const CLIENTS = [
  client('desk', 'Writing Desk', [CALLBACK]),
  client('planner', 'Week Planner', ['https://planner.example/callback']),
  {
    client_id: 'screen',
    client_name: 'Reading screen',
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
    token_endpoint_auth_method: 'none',
  },
];

/** What the server protects, with texts in two languages. */
function resourcesOf(issuer: string, kind: GalleryKind) {
  return [
    {
      resource: `${issuer}/mcp`,
      name: 'Notes',
      defaultScopes: ['read', 'write'],
      scopes: {
        read: 'Read your notes',
        write: 'Add and change your notes',
        share: 'Share your notes with others',
        remove: 'Delete your notes for ever',
      },
      translations: {
        de: {
          name: 'Notizen',
          scopes: {
            read: 'Ihre Notizen lesen',
            write: 'Notizen hinzufügen und ändern',
            share: 'Ihre Notizen mit anderen teilen',
            remove: 'Ihre Notizen endgültig löschen',
          },
        },
      },
    },
    {
      resource: `${issuer}/board`,
      name: 'Board',
      scopes: { see: 'See the board', draw: 'Draw on the board' },
    },
    ...(kind === 'both' ? [archiveOf(issuer)] : []),
    ...(kind === 'linked' ? [lendingOf(issuer)] : []),
  ];
}

const WORKSPACES = [
  { id: 'w1', name: 'Library' },
  { id: 'w2', name: 'Archive' },
];

export async function openGallery(kind: GalleryKind): Promise<Gallery> {
  const withAccount = !['empty', 'company', 'elsewhere'].includes(kind);
  const store = await openStore(':memory:');
  let answer: AuthorizationServer['handleHttp'] | undefined;
  const listening = await listen((asked) => answer?.(asked) ?? Promise.reject(new Error('too early')), {
    port: 0,
    host: 'localhost',
  });
  const issuer = `http://localhost:${listening.port}`;
  const board = `${issuer}/board`;
  const requests: AuthorizationEvent[] = [];
  const server = await createAuthorizationServer({
    issuer,
    events: (event) => void (event.type === 'account.sign_in_link_requested' && requests.push(event)),
    name: 'Lakeside Library',
    store,
    masterKey: new Uint8Array(32).fill(7),
    resources: resourcesOf(issuer, kind),
    clients: CLIENTS,
    sendsMail: kind === 'both',
    signInLinks: kind === 'both',
    ...((kind === 'both' || kind === 'elsewhere') && { identityProviders: IDENTITY_PROVIDERS }),
    ...(kind === 'company' && { identityProviders: IDENTITY_PROVIDERS.slice(0, 1) }),
    ...(kind === 'linked' && {
      approvals: true,
      backends: createGalleryBackends(
        () => issuer,
        () => gallery.connecting,
      ),
    }),
    localAccounts: kind !== 'elsewhere',
    personalAccessTokens: kind === 'full',
    deviceAuthorization: kind === 'full',
    workspaces: async (_account, resource) => (resource === board ? WORKSPACES : []),
  });
  answer = (asked) => {
    const { pathname } = new URL(asked.url);
    if (pathname === '/') return server.frontPage(asked);
    return server.owns(pathname)
      ? server.handleHttp(asked, { address: '127.0.0.1' })
      : server.missingPage(asked);
  };
  if (withAccount) {
    await server.bootstrap('ada@example.com', PASSWORD);
    await addGrace(server);
  }
  let lastGrant = '';
  const gallery: Gallery = {
    issuer,
    board,
    connecting: 'connected',
    async connectLink(scopes = []) {
      const link = await server.connectedAccounts.createLink(lastGrant, '/hub', scopes);
      if (link === null) throw new Error('The grant has ended.');
      return link;
    },
    async requestApproval(groups) {
      const [ada] = await server.accounts.list();
      return requestApproval(server, issuer, ada?.id ?? '', groups);
    },
    async noticeLink(type, details = {}) {
      const [ada] = await server.accounts.list();
      const notice = server.mailedLinks?.createNotice(eventOf(type, ada?.id, details));
      if (notice == null) throw new Error('There is no notice.');
      return notice.link;
    },
    signInLink() {
      const { type = '', accountId, ...details } = requests.at(-1) ?? {};
      const made = server.mailedLinks?.createSignInLink(eventOf(type, accountId, details));
      if (made == null) throw new Error('There is no link.');
      return made.link;
    },
    setupLink: await server.setupLink(),
    invitation: withAccount ? await linkFor(server, 'linus@example.com') : '',
    reset: withAccount ? await resetFor(server, 'alan@example.com') : '',
    invite: (email) => linkFor(server, email),
    codeOf,
    async deviceCode() {
      const body = new URLSearchParams({ client_id: 'screen', resource: `${issuer}/mcp`, scope: 'read' });
      const answer = await fetch(`${issuer}/device_authorization`, { method: 'POST', body });
      return ((await answer.json()) as { readonly user_code: string }).user_code;
    },
    other: await register(issuer, 'Notes CLI', CALLBACK),
    talker: await register(issuer, 'The most helpful and trustworthy assistant '.repeat(7), CALLBACK),
    url: (parameters) => `${issuer}/authorize?${new URLSearchParams({ ...WANTED, ...parameters })}`,
    async redeem(location, clientId) {
      const code = location.searchParams.get('code') ?? '';
      const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, client_id: clientId };
      const answer = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
      if (!answer.ok) throw new Error(`The code was refused: ${await answer.text()}`);
      lastGrant = grantOf(((await answer.json()) as { readonly access_token: string }).access_token);
    },
    async close() {
      await listening.close(0);
      await server.close();
      await store.close();
    },
  };
  return gallery;
}

/** An event as the audit log has it. */
function eventOf(type: string, accountId: string | undefined, details: Readonly<Record<string, unknown>>) {
  const none = { clientId: null, resource: null, transactionId: null, expiresAt: 0 };
  const ids = { id: `event ${type}`, accountId: accountId ?? null, grantId: 'grant' };
  return { ...none, ...ids, at: Date.now(), type, details };
}

let calls = 0;

/** A call with a long argument, and one with characters that are not seen. */
async function requestApproval(
  server: AuthorizationServer,
  issuer: string,
  subject: string,
  groups?: readonly string[],
): Promise<string> {
  calls += 1;
  const given = JSON.stringify({
    path: `/letters/${calls}/spring\u202egpj.exe`,
    options: { recursive: true, keep: 2.5 },
    note: 'All letters of this spring have been copied into the archive. '.repeat(20),
  });
  const decision = await server.approvals.request({
    ...{ issuer, subject, clientId: 'desk', grantId: null },
    ...{ server: '/mcp', backend: null, tool: 'delete_folder' },
    needed: [
      {
        by: groups === undefined ? 'user' : { groups },
        lasts: groups === undefined ? 900 : 'call',
        rule: 'servers[0].tools["delete_*"].approval',
      },
    ],
    arguments: given,
    argumentsHash: createHash('sha256').update(given).digest('base64url'),
    definition: JSON.stringify({
      name: 'delete_folder',
      description: 'Deletes a folder of notes and all that it contains. It cannot be restored.',
      annotations: { destructiveHint: true, openWorldHint: false },
    }),
  });
  if (decision.kind !== 'pending') throw new Error(`The approval is ${decision.kind}.`);
  return decision.url;
}

/** A server most of whose permissions Ada cannot allow. */
function lendingOf(issuer: string) {
  const scopes = {
    loans: 'See your loans',
    renew: 'Renew your loans',
    catalogue: 'Change the catalogue of the library',
    discard: 'Remove books from the catalogue for ever',
    members: 'See the loans of other members',
    fines: 'Waive fines',
  };
  const german = {
    loans: 'Ihre Ausleihen sehen',
    renew: 'Ihre Ausleihen verlängern',
    catalogue: 'Den Katalog der Bibliothek ändern',
    discard: 'Bücher endgültig aus dem Katalog entfernen',
    members: 'Die Ausleihen anderer Mitglieder sehen',
    fines: 'Mahngebühren erlassen',
  };
  return {
    resource: `${issuer}/lending`,
    name: 'Lending desk',
    scopes,
    translations: { de: { name: 'Ausleihe', scopes: german } },
    grantableTo: {
      catalogue: { groups: ['librarians'] },
      discard: { groups: ['librarians'] },
      members: { clients: ['desk'] },
      fines: { claims: { email: ['head@lakeside.example'] } },
    },
  };
}

/** A server with so many permissions that the consent page groups them. */
function archiveOf(issuer: string) {
  const things = 'letters maps photographs drawings contracts receipts diaries scores'.split(' ');
  const each = (kind: string, sentence: (thing: string) => string) =>
    Object.fromEntries(things.map((thing) => [`${thing}:${kind}`, sentence(thing)]));
  return {
    resource: `${issuer}/archive`,
    name: 'Archive of the Lakeside Region',
    scopes: {
      ...each('read', (thing) => `Read the ${thing} of your collections`),
      ...each('write', (thing) => `Add ${thing} to your collections and describe them`),
      ...each('delete', (thing) => `Delete ${thing} for ever`),
      members: 'Invite members of the Donaudampfschifffahrtselektrizitätenhauptbetriebswerkgesellschaft',
      ...each('list', (thing) => `List the ${thing} of other members`),
    },
  };
}

function grantOf(accessToken: string): string {
  const claims = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString();
  return (JSON.parse(claims) as { readonly grant_id: string }).grant_id;
}

async function linkFor({ accounts }: AuthorizationServer, email: string): Promise<string> {
  const added = await accounts.add(email);
  if ('refused' in added) throw new Error(`The account was refused: ${added.refused}`);
  return added.link;
}

async function resetFor({ accounts }: AuthorizationServer, email: string): Promise<string> {
  await accounts.add(email);
  const made = await accounts.reset(email);
  if ('refused' in made) throw new Error(`The reset was refused: ${made.refused}`);
  return made.link;
}

/** A user whose login methods may change while screenshots are taken. */
async function addGrace(server: AuthorizationServer): Promise<void> {
  const link = new URL(await linkFor(server, 'grace@example.com'));
  const token = link.searchParams.get('token') ?? '';
  const body = new URLSearchParams({ token, password: PASSWORD, password_again: PASSWORD });
  const answer = await server.handle(new Request(link, { method: 'POST', body }));
  if (answer.status !== 303) throw new Error('The invitation was refused.');
}

/** @see RFC 6238 */
function codeOf(secret: string): string {
  const bits = [...secret]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const moment = Buffer.alloc(8);
  moment.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac('sha1', key).update(moment).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fff_ffff;
  return String(number % 1_000_000).padStart(6, '0');
}

const IDENTITY_PROVIDERS = [
  identityProvider('hub', 'Harbour Hub'),
  {
    ...identityProvider('staff', 'the sign-in of Lakeside employees'),
    allowedUsers: { emailDomains: ['lakeside.example'] },
  },
  {
    id: 'mill',
    name: 'Old Mill',
    clientId: 'library',
    clientSecret: 'only for screenshots, never used',
    scopes: ['openid'],
    // Nothing listens at this port: the identity provider that is down.
    kind: { issuer: 'http://localhost:1' },
  },
];

function identityProvider(id: string, name: string) {
  const at = (path: string) => `https://${id}.example/${path}`;
  return {
    id,
    name,
    clientId: 'library',
    clientSecret: 'only for screenshots, never used',
    scopes: ['profile', 'notes:sync'],
    kind: {
      endpoints: { authorization: at('authorize'), token: at('token'), userinfo: at('user') },
      userinfoClaims: { subject: 'id' },
    },
  };
}

const WANTED = {
  response_type: 'code',
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
};

function client(id: string, name: string, redirect_uris: readonly string[]): object {
  return {
    client_id: id,
    client_name: name,
    redirect_uris,
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  };
}

async function register(issuer: string, client_name: string, redirect_uri: string): Promise<string> {
  const response = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name,
      redirect_uris: [redirect_uri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    }),
  });
  if (!response.ok) throw new Error(`The registration was refused: ${await response.text()}`);
  return ((await response.json()) as { client_id: string }).client_id;
}
