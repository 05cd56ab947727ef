/** Federated users: who a user is at an identity provider, and whether they may sign in. */

import { isMembers } from '@portcullis/http';
import { toNfkc } from '@portcullis/protocol';
import type { UserProfile } from '../../store/index.ts';
import { claimGroups, claimText } from '../../users/user-claims.ts';
import { IdentityProviderError } from './error.ts';
import type { AllowedUsers, UserClaimNames, UserinfoClaims } from './options.ts';

/** A user that the identity provider has authenticated. */
export interface FederatedUser {
  readonly issuer: string;
  /** The issuer never assigns it to another user. */
  readonly subject: string;
  /** The user's name at the provider; `null` if unknown. */
  readonly name: string | null;
  /** All claims; used only to check `allowedUsers`, and for the user's profile. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** MUST NOT exceed 255 ASCII characters. @see OpenID Connect Core 1.0 §2 */
const MAX_SUBJECT_LENGTH = 255;

/** @throws IdentityProviderError if the claims have no subject */
export function readFederatedUser(
  issuer: string,
  claims: Readonly<Record<string, unknown>>,
  { subject, name }: UserinfoClaims,
): FederatedUser {
  const value = name === undefined ? undefined : claimAt(claims, name);
  return {
    issuer,
    subject: readSubject(claimAt(claims, subject)),
    name: shorten(value),
    claims,
  };
}

/**
 * Issuers that document `email_verified` as text. In claims of others text is not a verification: they may pass on what users wrote.
 * @see https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple
 * @see https://docs.aws.amazon.com/cognito/latest/developerguide/userinfo-endpoint.html
 */
const WITH_TEXT = /^https:\/\/(?:appleid\.apple\.com$|cognito-idp\.[a-z0-9-]+\.amazonaws\.com\/)/;

function withFlag(
  issuer: string,
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const isVerified = claims['email_verified'] === 'true' && WITH_TEXT.test(issuer);
  return isVerified ? { ...claims, email_verified: true } : claims;
}

/** A user of an OpenID Connect provider. An email address is used as the name only if it is verified. */
export function readOpenIdConnectUser(
  issuer: string,
  received: Readonly<Record<string, unknown>>,
): FederatedUser {
  const claims = withFlag(issuer, received);
  const email = claims['email_verified'] === true ? claims['email'] : undefined;
  const name = [email, claims['preferred_username'], claims['name']].find(
    (one) => typeof one === 'string' && one !== '',
  );
  return {
    issuer,
    subject: readSubject(claims['sub']),
    name: shorten(name),
    claims,
  };
}

/** A number that JavaScript cannot represent exactly could be two users. */
function readSubject(value: unknown): string {
  const isNumber = typeof value === 'number' && Number.isSafeInteger(value);
  const subject = isNumber ? String(value) : value;
  if (
    typeof subject !== 'string' ||
    subject === '' ||
    subject.length > MAX_SUBJECT_LENGTH ||
    subject.includes('\0')
  ) {
    throw new IdentityProviderError('misbehaved', 'no valid subject');
  }
  return subject;
}

function shorten(name: unknown): string | null {
  if (typeof name !== 'string') return null;
  const printable = name.replace(/[\p{C}\s]+/gu, ' ').trim();
  return printable === '' ? null : [...printable].slice(0, 100).join('');
}

/**
 * The member at a path: nested where dots separate names, else under names that contain dots themselves, such as
 * `https://example.com/groups` at Auth0.
 */
export function claimAt(claims: unknown, path: string): unknown {
  if (!isMembers(claims)) return undefined;
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot);
    const found = Object.hasOwn(claims, name) ? claimAt(claims[name], path.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return Object.hasOwn(claims, path) ? claims[path] : undefined;
}

/** What servers may learn of a user. An email address counts only if the provider has verified it. */
export function readProfile(
  { claims }: FederatedUser,
  { name = 'name', groups }: UserClaimNames,
): UserProfile {
  return {
    email: foldBeyondAscii(claimText(verifiedEmail(claims))),
    name: claimText(claimAt(claims, name)),
    groups: groups === undefined ? [] : claimGroups(claimAt(claims, groups)),
  };
}

/** SQLite compares without case in ASCII only. */
function foldBeyondAscii(email: string | null): string | null {
  return email === null || /^\p{ASCII}*$/u.test(email) ? email : toNfkc(email).toLowerCase();
}

/** Whether a user satisfies `allowedUsers`: all of its conditions must hold. */
export function isUserAllowed(
  { subjects, emails, emailDomains, claims: wanted = {} }: AllowedUsers,
  { subject, claims }: FederatedUser,
): boolean {
  if (subjects !== undefined && !subjects.includes(subject)) return false;
  if (emails !== undefined && !emails.some((email) => isAddress(email, claims))) return false;
  if (emailDomains !== undefined && !emailDomains.some((domain) => isAddressIn(domain, claims))) return false;
  return Object.entries(wanted).every(([name, values]) => {
    const value = claimAt(claims, name);
    const all: readonly unknown[] = Array.isArray(value) ? value : [value];
    return all.some((one) => isPlain(one) && values.includes(String(one)));
  });
}

/** Whether a value has one text: a string, a number, `true` or `false`. */
function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function verifiedEmail(claims: Readonly<Record<string, unknown>>): string | null {
  const { email, email_verified: isVerified } = claims;
  return isVerified === true && typeof email === 'string' ? email : null;
}

/** Whether the provider has verified this email address. */
function isAddress(wanted: string, claims: Readonly<Record<string, unknown>>): boolean {
  return verifiedEmail(claims)?.trim().toLowerCase() === wanted.trim().toLowerCase();
}

/** Whether a verified email address belongs to a domain. An ambiguous address belongs to none. */
function isAddressIn(domain: string, claims: Readonly<Record<string, unknown>>): boolean {
  const host = /^[\x21-\x3f\x41-\x7e]+@([a-z0-9.-]+)$/i.exec(verifiedEmail(claims) ?? '')?.[1];
  return host?.toLowerCase() === domain.toLowerCase();
}
