/** What the three questions ask for, and how an answer is read from text. */

/** An MCP server that has no authorization. */
export type Backend = { readonly url: string } | { readonly command: readonly string[] };

/** Accounts with passwords and passkeys, or an identity provider. */
export type SignIn =
  | { readonly kind: 'accounts' }
  | {
      readonly kind: 'provider';
      /** A preset, or the issuer of an OpenID provider. */
      readonly provider: string;
      /** The tenant or domain, for presets that need one. */
      readonly parameter: string | undefined;
      readonly clientId: string;
      readonly clientSecret: string;
      /** As in the configuration; `null`: every user of the provider. */
      readonly allowedUsers: Readonly<Record<string, unknown>> | null;
    };

/** This computer, or the https URL that everyone uses. */
export type Location = { readonly kind: 'local' } | { readonly kind: 'public'; readonly url: string };

export interface Answers {
  readonly backend: Backend;
  readonly signIn: SignIn;
  readonly location: Location;
  /** On this computer. */
  readonly port: number;
}

/** Of the server, if nothing else is said. */
export const DEFAULT_PORT = '8484';

/** An answer that cannot be used; the message says what would be right. */
export class AnswerError extends Error {}

/** Presets → what they need besides client ID and secret. */
const PRESETS: Readonly<Record<string, 'tenant' | 'domain' | undefined>> = {
  google: undefined,
  github: undefined,
  'microsoft-entra': 'tenant',
  okta: 'domain',
};

/** `'npx -y "my server"'` → its words. Quotes group, and nothing else has a meaning. */
function splitWords(text: string): readonly string[] {
  const words = text.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g);
  return [...words].map(([word]) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

/** @throws AnswerError for what is neither an http(s) URL nor a command */
export function parseBackend(text: string): Backend {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    const command = splitWords(text);
    if (command.length === 0)
      throw new AnswerError('name a URL, such as http://127.0.0.1:3000/mcp, or a command');
    return { command };
  }
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new AnswerError(`${text} must be an http or https URL, or a command`);
  if (url.username !== '' || url.password !== '')
    throw new AnswerError(
      'the URL must contain no user and password: see docs/gateway.md for credentials of the server',
    );
  return { url: text };
}

/**
 * @returns the preset or issuer, or `accounts`
 * @throws AnswerError for an unknown provider
 */
export function parseProvider(text: string): string {
  const name = text.trim();
  if (name === 'accounts' || Object.hasOwn(PRESETS, name)) return name;
  const url = URL.parse(name);
  if (url?.protocol === 'https:' && url.search === '' && url.hash === '') return name;
  throw new AnswerError(
    `${name} must be accounts, ${Object.keys(PRESETS).join(', ')}, or the https URL of an OpenID provider's issuer`,
  );
}

/** Providers at which everyone in the world has an account, or can get one: those that the server warns of. */
const WORLDWIDE: readonly string[] = [
  'google',
  'github',
  'https://accounts.google.com',
  'https://appleid.apple.com',
  'https://gitlab.com',
  'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  'https://slack.com',
];

/** Whether the operator has to say who may sign in. @param parameter the tenant of `microsoft-entra` */
export function isWorldwide(provider: string, parameter: string | undefined): boolean {
  return WORLDWIDE.includes(
    provider === 'microsoft-entra' ? `https://login.microsoftonline.com/${parameter}/v2.0` : provider,
  );
}

/** Domains in which everyone can get an address. */
const PUBLIC_DOMAINS: readonly string[] = ['gmail.com', 'googlemail.com'];

/**
 * Reads who may sign in: `anyone`, or a list separated by commas.
 * @returns `allowedUsers` of the configuration; `null` for anyone
 * @throws AnswerError for what is no such list
 * @see docs/identity-providers.md#who-may-sign-in
 */
export function parseAllowed(provider: string, text: string): Readonly<Record<string, unknown>> | null {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length === 1 && items[0] === 'anyone') return null;
  const are = (pattern: RegExp) => items.length > 0 && items.every((item) => pattern.test(item));
  if (provider === 'github') {
    if (are(/^\d+$/)) return { subjects: items };
    if (are(/^[a-z\d](?:-?[a-z\d]){0,38}$/i)) return { claims: { login: items } };
    throw new AnswerError('name GitHub users, or their numeric IDs, separated by commas; or type anyone');
  }
  if (provider === 'microsoft-entra')
    throw new AnswerError(
      'Entra says of no address that it is verified: type anyone, then limit users by subjects or claims (docs/identity-providers.md#who-may-sign-in)',
    );
  const open = items.find((item) => PUBLIC_DOMAINS.includes(item.toLowerCase()));
  if (open !== undefined)
    throw new AnswerError(`everyone can get an address in ${open}: name addresses, or type anyone`);
  if (are(/^[^\s@]+@[\w.-]+\.\w+$/)) return { emails: items };
  if (are(/^[\w-]+(?:\.[\w-]+)+$/)) return { emailDomains: items };
  throw new AnswerError('name domains or email addresses, separated by commas; or type anyone');
}

/** The parameter that a preset needs, `tenant` or `domain`. */
export function parameterOf(provider: string): 'tenant' | 'domain' | undefined {
  return PRESETS[provider];
}

/** @throws AnswerError for what is neither `local` nor an https origin */
export function parseLocation(text: string): Location {
  const name = text.trim();
  if (name === 'local') return { kind: 'local' };
  const url = URL.parse(name);
  if (url === null || url.protocol !== 'https:')
    throw new AnswerError(`${name} must be local, or a public URL such as https://auth.example.com`);
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.port !== '')
    throw new AnswerError(`${name} must have no port, path or query: https://${url.hostname}`);
  return { kind: 'public', url: url.origin };
}

/** @throws AnswerError for what is no port */
export function parsePort(text: string): number {
  const port = Number(text.trim());
  if (/^\d{1,5}$/.test(text.trim()) && port >= 1 && port <= 65_535) return port;
  throw new AnswerError(`${text} must be a port from 1 to 65535`);
}

/** @throws AnswerError for an empty answer, or one with white space or line breaks in it */
export function parseWord(text: string): string {
  const word = text.trim();
  if (!/^\S+$/.test(word)) throw new AnswerError('must be one word');
  return word;
}

/** The provider's identifier here, as in its redirect URI `/callback/<id>`. */
export function providerId(provider: string): string {
  if (provider.startsWith('https://')) return 'company';
  return provider === 'microsoft-entra' ? 'microsoft' : provider;
}

/** The file with the client secret: its path in the folder, and below /app in the container. */
export const secretFile = (provider: string): string => `secrets/${providerId(provider)}`;

/** What users read on the consent page, until the operator changes it; users of a public server do not know its internal address. */
export function serverName({ backend, location }: Answers): string {
  if ('url' in backend) return new URL(location.kind === 'public' ? location.url : backend.url).host;
  const isEnvironment = (word: string) => /(?:^|\/)env$|^\w+=/.test(word);
  const [program = '', ...args] = backend.command.slice(
    backend.command.findIndex((word) => !isEnvironment(word)),
  );
  const isRunner = /(?:^|\/)(?:npx|bunx|uvx|node|deno|bun|python3?)$/.test(program);
  const named = isRunner ? (args.find((word) => !word.startsWith('-')) ?? program) : program;
  return (
    named
      .split('/')
      .at(-1)
      ?.replace(/@[\d.]+$|\.[cm]?[jt]s$|\.py$/, '') || program
  );
}
