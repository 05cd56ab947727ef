/** The error pages: HTTP status and texts of everything that can go wrong in the browser. */
import type { ErrorActor } from './marks.ts';
import english from './texts/en.json' with { type: 'json' };
import type { TextName } from './texts/texts.ts';

/** The pages whose texts have their name: `error.<page>` is the heading of the sentences `error.<page>.1` and `error.<page>.2`. */
type NamedPage = TextName extends infer Name ? (Name extends `error.${infer Page}.1` ? Page : never) : never;

type Texts = readonly [heading: TextName, ...sentences: TextName[]];

/** HTTP status, unless the error has its own; who has to act; and the texts where they have other names. */
type Page = readonly [status: number, actor: ErrorActor, texts?: Texts];

const PAGES = {
  'unknown-app': [400, 'you'],
  'app-not-found': [400, 'administrator'],
  'bad-request': [400, 'app'],
  'no-transaction': [400, 'you'],
  gone: [400, 'you'],
  'other-browser': [403, 'you'],
  'other-account': [403, 'you'],
  'unknown-approval': [404, 'you'],
  'no-cookie': [403, 'you'],
  'stale-form': [403, 'you'],
  'bad-form': [400, 'you'],
  'used-link': [403, 'administrator'],
  'used-sign-in-link': [403, 'you'],
  'already-set-up': [403, 'you'],
  'not-found': [404, 'you'],
  'login-not-allowed': [403, 'administrator'],
  'provider-unavailable': [503, 'later'],
  'provider-error': [502, 'later'],
  busy: [503, 'later'],
  failed: [500, 'later'],
  'used-connect-link': [403, 'you', ['error.used-link', 'error.used-link.1', 'error.used-connect-link.2']],
  'used-reset-link': [403, 'you', ['error.used-link', 'error.used-link.1', 'error.used-reset-link.2']],
  'login-declined': [403, 'you', ['sign-in.failed-title', 'sign-in.provider-refused']],
  'response-too-long': [413, 'later', textsOf('provider-error')],
} as const satisfies Readonly<Record<NamedPage, Page>> & Readonly<Record<string, Page>>;

export type ErrorPage = keyof typeof PAGES;

/** Says what happened and who can fix it. */
interface ErrorPageContent {
  readonly status: number;
  readonly actor: ErrorActor;
  readonly heading: TextName;
  readonly sentences: readonly TextName[];
}

export function errorPageContent(page: ErrorPage): ErrorPageContent {
  const [status, actor, [heading, ...sentences] = textsOf(page)]: Page = PAGES[page];
  return { status, actor, heading, sentences };
}

function textsOf(page: string): Texts {
  const names = [`error.${page}`, `error.${page}.1`, `error.${page}.2`];
  return names.filter((name) => Object.hasOwn(english, name)) as unknown as Texts;
}
