/** Software statements in client metadata: the values that a trusted issuer signed take precedence, also in later updates. */
import { type ClientMetadata, OAuthError } from '@portcullis/protocol';
import type { ReadRegistrationMetadata } from './registration-metadata.ts';

/** Software statements of trusted issuers, each as the metadata that it states. */
export interface SoftwareStatements {
  /** @throws OAuthError `invalid_software_statement` or `unapproved_software_statement` */
  verify(statement: string): Promise<object>;
  /** Reads one that was verified when its client registered: it may have expired since. */
  read(statement: string): Promise<object>;
}

/** Bytes. As much again as the rest of the metadata may have. */
const LARGEST = 16 * 1024;

/**
 * Reads client metadata with the software statement in it, or the one that the client registered with.
 * @param registered the statement of the registered client; `null`: none
 * @returns the metadata, and the document that it was read from
 * @throws OAuthError as `ReadRegistrationMetadata` and `SoftwareStatements`
 * @see RFC 7591 §2.3 and §3.1.1: "the values in the software statement take precedence"
 */
export type ReadStatedMetadata = (
  json: unknown,
  registered: string | null,
) => Promise<{ readonly metadata: ClientMetadata; readonly document: unknown }>;

/** @param hasTrustedIssuers otherwise the rules for metadata refuse every statement that is not registered */
export function createReadStatedMetadata(
  read: ReadRegistrationMetadata,
  statements: SoftwareStatements,
  hasTrustedIssuers: boolean,
): ReadStatedMetadata {
  return async (json, registered) => {
    const { software_statement: sent, ...rest } = (json ?? {}) as Readonly<Record<string, unknown>>;
    // An empty member counts as absent, and `null` would remove it: neither ends what the issuer stated.
    const isUnchanged = sent === undefined || sent === null || sent === '' || sent === registered;
    const statement = isUnchanged ? registered : isReadable(sent) ? sent : null;
    if (statement === null) return { metadata: read(json), document: json };
    const stated = statement === registered ? statements.read(statement) : statements.verify(statement);
    const document = { ...rest, ...(await stated) };
    // "If the authorization server does not ignore it, it MUST be returned unmodified" (RFC 7591 §3.2.1)
    return { metadata: { ...read(document), software_statement: statement }, document };
  };

  function isReadable(sent: unknown): sent is string {
    if (!hasTrustedIssuers || typeof sent !== 'string' || !/^(?:[\w-]+\.){2}[\w-]+$/.test(sent)) return false;
    if (sent.length <= LARGEST) return true;
    const description = `software_statement: may have ${LARGEST / 1024} KiB at most`;
    throw new OAuthError('invalid_software_statement', description);
  }
}
