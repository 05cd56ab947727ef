/** One refresh at a time: all who need newer tokens wait for the same, and go on with what it brought. */
import type { ClientSettings } from '../settings.ts';
import { isExpired, type Tokens } from '../token-endpoint/token-response.ts';
import type { Refresher } from './refresher.ts';
import type { KeptTokens, KnownTokens } from './stored-tokens.ts';

/**
 * Renews tokens, or joins the renewal that is under way; `null`: the session is over.
 * @throws ClientError of an outage, when the access token has not outlived it.
 */
export type RefreshOnce = (stale: KeptTokens) => Promise<Tokens | null>;

/** Makes the function. */
export function createRefreshOnce(
  { clock }: ClientSettings,
  known: KnownTokens,
  refresher: Refresher,
): RefreshOnce {
  let running: Promise<Tokens | null> | null = null;

  return (stale) => {
    running ??= refresh(stale).finally(() => {
      running = null;
    });
    return running;
  };

  async function refresh({ key, tokens }: KeptTokens): Promise<Tokens | null> {
    const result = await refresher.refresh(key, tokens);
    switch (result.kind) {
      case 'renewed':
        known.adopt({ key, tokens: result.tokens });
        return result.tokens;
      case 'ended':
        known.end();
        return null;
      case 'postponed':
        // The access token may outlive the outage.
        if (!isExpired(tokens, clock())) return tokens;
        throw result.error;
    }
  }
}
