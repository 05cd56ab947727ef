/** Claims about users in access tokens: which ones a resource requests, and their values for a user. */
import { type Scopes, USER_CLAIMS, type UserClaim } from '@portcullis/protocol';
import type { ResourceDefinition } from '../resources/options.ts';
import type { AccountRecord, AuthorizationStore, UserProfile } from '../store/index.ts';

/** The claims of a token, by their registered names. */
export interface ReleasedClaims {
  readonly email?: string;
  readonly name?: string;
  readonly groups?: readonly string[];
}

type ClaimRules = Pick<ResourceDefinition, 'claims' | 'scopeClaims'>;

/** The claims that tokens with these scopes contain: those of the resource, and those of each scope. */
export function claimsToRelease(
  { claims = [], scopeClaims = {} }: ClaimRules,
  scopes: Scopes,
): readonly UserClaim[] {
  if (claims.length === 0 && Object.keys(scopeClaims).length === 0) return claims;
  const wanted = new Set([
    ...claims,
    ...scopes.flatMap((scope) => (Object.hasOwn(scopeClaims, scope) ? (scopeClaims[scope] ?? []) : [])),
  ]);
  return USER_CLAIMS.filter((claim) => wanted.has(claim));
}

/** The configured claims as text, so that consent is requested again when they change; `null`: none. */
export function serializeClaimRules({ claims = [], scopeClaims = {} }: ClaimRules): string | null {
  const isEmpty = claims.length === 0 && Object.keys(scopeClaims).length === 0;
  return isEmpty ? null : JSON.stringify([claims.toSorted(), Object.entries(scopeClaims).toSorted()]);
}

/** Reads claims about a user; unknown ones are left out. */
export async function readUserClaims(
  store: AuthorizationStore,
  accountId: string,
  wanted: readonly UserClaim[],
): Promise<ReleasedClaims> {
  if (wanted.length === 0) return {};
  const [account, profile] = await Promise.all([store.findAccount(accountId), store.findProfile(accountId)]);
  if (account === null) return {};
  const name = profile?.name ?? null;
  const groups = groupsOf(profile);
  const email = emailOf(account, profile);
  return {
    ...(wanted.includes('email') && email !== null && { email }),
    ...(wanted.includes('name') && name !== null && { name }),
    ...(wanted.includes('groups') && groups.length > 0 && { groups }),
  };
}

/** All groups of a user, wherever they come from. */
function groupsOf(profile: UserProfile | null): readonly string[] {
  const { groups = [], provisionedGroups } = profile ?? {};
  return provisionedGroups === undefined ? groups : claimGroups([...provisionedGroups, ...groups]);
}

/** The `email` of a federated account is only a label: its address is the one that the identity provider verified. */
function emailOf({ email, emailKey }: AccountRecord, profile: UserProfile | null): string | null {
  return emailKey.includes('@') ? email : (profile?.email ?? null);
}

const MAX_LENGTH = 200;
const MAX_GROUPS = 100;
/** Of all groups together, so that tokens fit into a header. */
const MAX_GROUP_CHARACTERS = 4000;
/** Of all groups together as UTF-8, in which a character has up to three bytes for each that it counts as. */
const MAX_GROUP_BYTES = 8000;

/** A text that can be a claim: printable and of limited length; `null` for any other value. */
export function claimText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[\p{C}\s]+/gu, ' ').trim();
  return text === '' || text.length > MAX_LENGTH ? null : text;
}

/** Why an operator cannot set these groups, as a sentence; `null`: each of them can be a claim, beside the others. */
export function findGroupsIssue(groups: readonly string[]): string | null {
  if (claimGroups(groups).length === new Set(groups).size) return null;
  return `A user has at most ${MAX_GROUPS} groups of at most ${MAX_LENGTH} characters, ${MAX_GROUP_CHARACTERS} in all (${MAX_GROUP_BYTES} bytes of UTF-8), each without control characters, and without spaces at its ends or in a row.`;
}

/** The groups that can be claims: at most 100, with 4,000 characters and 8,000 bytes in all. Others are left out, and never shortened. */
export function claimGroups(value: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  const groups: string[] = [];
  let characters = 0;
  let bytes = 0;
  for (const one of given) {
    const group = claimText(one);
    if (group === null || group !== one || groups.includes(group)) continue;
    characters += group.length;
    bytes += Buffer.byteLength(group);
    if (groups.length >= MAX_GROUPS || characters > MAX_GROUP_CHARACTERS || bytes > MAX_GROUP_BYTES) break;
    groups.push(group);
  }
  return groups;
}
