/** Who somebody is at a third party, and whether they may come in. */

import { IdentityProviderError } from './provider-error.ts';
import type { AllowedUsers, UserinfoClaims } from './provider-options.ts';
import { isJsonObject } from './response-formats.ts';

/** A person, proven by the third party. */
export interface FederatedUser {
  readonly issuer: string;
  /** What the issuer never gives to anybody else. */
  readonly subject: string;
  /** What the person is called there; `null` when nobody said. */
  readonly name: string | null;
  /** All that was said of them, to be judged by the operator's rule only. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** MUST NOT exceed 255 characters. @see OpenID Connect Core §2 */
const LONGEST_SUBJECT = 255;

/** @throws ThirdPartyFault when nothing in it says who somebody is */
export function readFederatedUser(
  issuer: string,
  claims: Readonly<Record<string, unknown>>,
  { subject, name }: UserinfoClaims,
): FederatedUser {
  const said = name === undefined ? undefined : memberOf(claims, name);
  return {
    issuer,
    subject: readSubject(memberOf(claims, subject)),
    name: typeof said === 'string' ? shorten(said) : null,
    claims,
  };
}

/** A person of a provider of OpenID Connect: an address is a name only when the provider has verified it. */
export function readOpenIdConnectUser(
  issuer: string,
  claims: Readonly<Record<string, unknown>>,
): FederatedUser {
  const email = claims['email_verified'] === true ? claims['email'] : undefined;
  const name = [email, claims['preferred_username'], claims['name']].find(
    (one) => typeof one === 'string' && one !== '',
  );
  return {
    issuer,
    subject: readSubject(claims['sub']),
    name: typeof name === 'string' ? shorten(name) : null,
    claims,
  };
}

/** A number that JavaScript cannot hold exactly could be two people. */
function readSubject(value: unknown): string {
  const isNumber = typeof value === 'number' && Number.isSafeInteger(value);
  const subject = isNumber ? String(value) : value;
  if (
    typeof subject !== 'string' ||
    subject === '' ||
    subject.length > LONGEST_SUBJECT ||
    subject.includes('\0')
  ) {
    throw new IdentityProviderError('misbehaved', 'it does not say who somebody is');
  }
  return subject;
}

function shorten(name: string): string | null {
  const printable = name.replace(/[\p{C}\s]+/gu, ' ').trim();
  return printable === '' ? null : [...printable].slice(0, 100).join('');
}

function memberOf(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      claims,
    );
}

/** Whether the operator's rule lets a person in: everything that it says must hold. */
export function isUserAllowed(
  { subjects, emailDomains, claims: wanted = {} }: AllowedUsers,
  { subject, claims }: FederatedUser,
): boolean {
  if (subjects !== undefined && !subjects.includes(subject)) return false;
  if (emailDomains !== undefined && !emailDomains.some((domain) => isAddressIn(domain, claims))) return false;
  return Object.entries(wanted).every(([name, values]) => {
    const said = memberOf(claims, name);
    const all: readonly unknown[] = Array.isArray(said) ? said : [said];
    return all.some((one) => typeof one === 'string' && values.includes(one));
  });
}

/** Whether a verified address belongs to a domain. An address that could be read in two ways belongs nowhere. */
function isAddressIn(domain: string, claims: Readonly<Record<string, unknown>>): boolean {
  const { email, email_verified: isVerified } = claims;
  if (isVerified !== true || typeof email !== 'string') return false;
  const host = /^[\x21-\x3f\x41-\x7e]+@([a-z0-9.-]+)$/i.exec(email)?.[1];
  return host?.toLowerCase() === domain.toLowerCase();
}
