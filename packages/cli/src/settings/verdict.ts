/** What the authorization server says is wrong with its options, told of the settings that decide them. */
import { type AuthorizationServerOptions, issuesOfOptions } from '@portcullis/authorization-server';
import type { FoundSettings } from './resolve.ts';
import type { SettingName } from './settings.ts';
import { settingNames } from './table.ts';

/** How options came to be. */
export interface Origins {
  /** The application of this process stands before the servers elsewhere, and is no part of that setting. */
  readonly hasApplication: boolean;
  /** Places of what could not be read. */
  readonly unread: readonly string[];
  readonly nameOf: FoundSettings['nameOf'];
}

/** All that is wrong, but for what may be right once everything can be read. */
export function issuesOfServer(
  options: Omit<AuthorizationServerOptions, 'store' | 'masterKey'>,
  { hasApplication, unread, nameOf }: Origins,
): readonly string[] {
  return issuesOfOptions(options)
    .map((issue) => place(issue, hasApplication))
    .filter((issue) => !unread.some((gap) => restsOn(issue, gap)))
    .map((issue) => say(issue, nameOf));
}

/** A fault that is told when the server is made. */
export function nameIssue(issue: string, { hasApplication, nameOf }: Omit<Origins, 'unread'>): string {
  if (issue.startsWith('masterKey')) {
    return `${nameOf('key')} or ${nameOf('keyFile')}: ${issue.replace('masterKey', 'the sealing key')}`;
  }
  return say(place(issue, hasApplication), nameOf);
}

/** A fault, and the place in the settings that it is about: `['resources', '0', 'url']`. */
interface Placed {
  readonly path: readonly string[];
  /** Goes on after the place. */
  readonly text: string;
}

/** The server begins each of its faults with the place in its own options. */
function place(issue: string, hasApplication: boolean): Placed {
  const [, start = ''] = /^([\w-]+(?:\.[\w-]+)*)/.exec(issue) ?? [];
  const [first = '', ...path] = start.split('.');
  const text = issue.slice(start.length);
  if (first === 'issuer') return { path: ['publicUrl', ...path], text };
  if (first === 'resources' && path.length > 0) return placeResource(path, text, hasApplication);
  return memberFirst({ path: [first, ...path], text });
}

function placeResource(
  [index = '', ...path]: readonly string[],
  text: string,
  hasApplication: boolean,
): Placed {
  const position = Number(index) - (hasApplication ? 1 : 0);
  if (position < 0) return { path: ['app'], text: `: app${path.map((name) => `.${name}`).join('')}${text}` };
  const members = path[0] === 'resource' ? ['url', ...path.slice(1)] : path;
  return { path: ['resources', String(position), ...members], text };
}

/** Of a client it is told `clients.0: redirect_uris.1: …`, as on the wire, where there is one client only. */
function memberFirst({ path, text }: Placed): Placed {
  const [before = '', member = ''] = /^: ([a-z_]+(?:\.\d+)?)(?=:)/.exec(text) ?? [];
  if (path[0] !== 'clients' || member === '') return { path, text };
  return { path: [...path, ...member.split('.')], text: text.slice(before.length) };
}

function say({ path: [first = '', ...path], text }: Placed, nameOf: Origins['nameOf']): string {
  const setting = settingNames.find((name: SettingName) => name === first);
  return setting === undefined ? `${[first, ...path].join('.')}${text}` : `${nameOf(setting, path)}${text}`;
}

/** Where a setting is judged by another one. */
const ACROSS: readonly { readonly issue: RegExp; readonly gap: RegExp }[] = [
  { issue: /^resources$/, gap: /^(?:app|resources)$/ },
  { issue: /^resources\.\d+\.(?:introspectionClients|tokenExchangeClients)$/, gap: /^clients\b/ },
  {
    issue: /^(?:clients\.\d+\.scope|identityProviders\.\d+\.upstreamScopes)$/,
    gap: /^(?:app|resources(?:\.\d+(?:\.scopes\b.*)?)?)$/,
  },
  { issue: /^localAccounts$/, gap: /^identityProviders$/ },
];

/** Members by which others of the same object are judged that do not speak of them. */
const BESIDE: readonly { readonly issue: RegExp; readonly gap: RegExp }[] = [
  { issue: /^identityProviders\b/, gap: /\.preset$/ },
  { issue: /^identityProviders\.\d+\.kind\b/, gap: /\.(?:tenant|domain|server|url|realm)$/ },
  { issue: /^identityProviders\.\d+\.(?:scopes|status|clientKey)$/, gap: /\.kind\b/ },
];

/**
 * Whether a fault may be none once a place can be read: it is about that place, a part of it or what it is a part of, it is about
 * a setting that is judged by another one, or it speaks of that member beside the one that it is about.
 */
function restsOn({ path, text }: Placed, gap: string): boolean {
  const about = path.join('.');
  const isWithin = (place: string) => about === place || about.startsWith(`${place}.`);
  if (isWithin(gap) || ACROSS.some((law) => law.issue.test(about) && law.gap.test(gap))) return true;
  const [whole = gap] = /^\w+(?:\.\d+)?/.exec(gap) ?? [];
  if (!isWithin(whole)) return false;
  // Of a list that is short of something, or holds a blank.
  if (about !== whole && gap.startsWith(`${about}.`)) return true;
  const members = gap.slice(whole.length + 1).split('.');
  return (
    members.some((name) => /^\D/.test(name) && new RegExp(`\\b${RegExp.escape(name)}\\b`).test(text)) ||
    BESIDE.some((law) => law.issue.test(about) && law.gap.test(gap))
  );
}
