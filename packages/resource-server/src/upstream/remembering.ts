/** What was exchanged for a token is kept by it for a while: one question at a time, and no answer of anybody else's. */
import type { OAuthError } from '@portcullis/protocol/protected-resource';
import { createMemory } from '../memory.ts';
import type { Standing } from '../standing.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamToken, UpstreamWant } from './upstream-token.ts';

/** Seconds before its end in which a token is not used any more: whoever gets it now still has to use it. */
const MARGIN = 30;
/** Tokens whose exchanges are remembered. */
const REMEMBERED = { entries: 10_000, characters: 10_000_000 };
/** Seconds for which a refusal is believed: neither retries nor new requests of the same token ask again. */
const REFUSED_FOR = 60;

interface Memory {
  tokenFor(standing: Standing, want: UpstreamWant): Promise<UpstreamToken>;
  forget(standing: Standing): void;
}

interface Kept {
  readonly answer: Promise<UpstreamToken>;
  /** Epoch seconds; endless while the answer is awaited. */
  until: number;
}

/**
 * By the token that was exchanged, whole: that of another person, another client or another grant is another token.
 * @param freshness seconds
 */
export function remembering(exchange: Exchange, freshness: number, clock: () => number): Memory {
  const memory = createMemory<Map<string, Kept>>(REMEMBERED);

  function start(standing: Standing, want: UpstreamWant): Kept {
    const kept: Kept = { answer: exchange(standing.token, want), until: Number.POSITIVE_INFINITY };
    kept.answer.then(
      (token) => {
        const end = token.expiresAt === null ? Number.POSITIVE_INFINITY : token.expiresAt - MARGIN;
        kept.until = Math.min(clock() + freshness, end, standing.claims.exp);
      },
      (error: OAuthError) => {
        kept.until = clock() + waitAfter(error);
      },
    );
    return kept;
  }

  return {
    tokenFor(standing, want) {
      const found = memory.find(standing.token);
      const own = found ?? new Map<string, Kept>();
      if (found === undefined) memory.keep(standing.token, own);
      const key = keyOf(want);
      const known = own.get(key);
      if (known !== undefined && clock() < known.until) return known.answer;
      const kept = start(standing, want);
      own.set(key, kept);
      return kept.answer;
    },
    forget: ({ token }) => memory.keep(token, new Map()),
  };
}

/** An outage ends when it says, a refusal stays, and what is set up wrongly may be mended. */
function waitAfter({ code, retryAfter = 1 }: OAuthError): number {
  if (code === 'temporarily_unavailable') return retryAfter;
  return code === 'server_error' ? 5 : REFUSED_FOR;
}

function keyOf({ identityProvider = '', scopes = [] }: UpstreamWant): string {
  return JSON.stringify([identityProvider, ...[...new Set(scopes)].toSorted()]);
}
