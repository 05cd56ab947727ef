/** Display names of clients and workspaces: untrusted text, made safe for a page (spoofing, bidirectional text). */
import { isTrustedClient, type ResolvedClient } from './clients/client.ts';
import type { Layout } from './ui/layout.ts';

const MAX_NAME_LENGTH = 50;
/** UTF-16 code units that are processed: the rest would be cut off anyway, at quadratic cost. */
const MAX_INPUT_LENGTH = 1000;

/** The `client_name`; the identifier of a pre-registered client without one. */
export function clientDisplayName(client: ResolvedClient, { text }: Pick<Layout, 'text'>): string {
  const name = displayName(client.metadata.client_name ?? (isTrustedClient(client) ? client.id : ''));
  return name === '' ? text('app.nameless') : name;
}

/** A name on one line, of bounded length, without invisible or direction-changing characters and without stacked marks. */
export function displayName(name: string): string {
  const plain = name
    .slice(0, MAX_INPUT_LENGTH)
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\p{C}\u115f\u1160\u3164\uffa0\u2800]/gu, '')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .trim();
  const letters = [...plain];
  return letters.length <= MAX_NAME_LENGTH
    ? plain
    : `${letters
        .slice(0, MAX_NAME_LENGTH - 1)
        .join('')
        .trimEnd()}…`;
}
