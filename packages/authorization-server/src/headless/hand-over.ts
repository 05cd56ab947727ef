/** Handing a person over to the operator's application: a redirect with a challenge, bound to the browser that follows it. */
import { fingerprint } from '../authorize/deliberation.ts';
import type { HandOver } from '../authorize/hand-over.ts';
import type { Configuration } from '../configuration.ts';
import { hashSecret } from '../secrets.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { Tickets } from './tickets.ts';

export function createHandOver(
  { externalUi: headless }: Pick<Configuration, 'externalUi'>,
  tickets: Tickets,
): HandOver {
  const { loginUrl = null, consentUrl = null } = headless ?? {};
  return {
    toLogin({ fields, binding: bound, requiresFreshLogin: isFresh, cookies }, language) {
      if (loginUrl === null) return null;
      const challenge = tickets.sealChallenge({
        kind: 'login',
        loginTarget: fields,
        bound: digestOf(bound),
        language,
        isFresh,
        accountId: null,
        question: null,
      });
      return respondRedirect(withChallenge(loginUrl, challenge), cookies);
    },
    toConsent({ flow, accountId, deliberation, afresh }, language) {
      if (consentUrl === null) return null;
      const challenge = tickets.sealChallenge({
        kind: 'consent',
        loginTarget: { flow: flow.transaction.id, ...(afresh && { afresh: 'yes' }) },
        bound: digestOf(flow.bound),
        language,
        isFresh: false,
        accountId,
        question: hashSecret(fingerprint(deliberation)),
      });
      return respondRedirect(withChallenge(consentUrl, challenge));
    },
  };
}

/** What a challenge and its answer are bound to, as one text. */
export function digestOf(bound: readonly string[]): string {
  return hashSecret(JSON.stringify(bound));
}

function withChallenge(page: string, challenge: string): string {
  const url = new URL(page);
  url.searchParams.set('challenge', challenge);
  return url.href;
}
