/** Handing a person over to the operator's application: a redirect with a challenge, bound to the browser that follows it. */
import { serializeConsentRequest } from '../consent/consent-request.ts';
import type { ExternalUi } from '../external-ui.ts';
import type { ServerOptions } from '../options.ts';
import { hashSecret } from '../secrets.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { Challenges } from './challenges.ts';

export function createExternalUi(
  { externalUi: headless }: Pick<ServerOptions, 'externalUi'>,
  challenges: Challenges,
): ExternalUi {
  const { loginUrl = null, consentUrl = null } = headless ?? {};
  return {
    redirectToLogin({ fields, binding: bound, requiresFreshLogin: isFresh, cookies }, language) {
      if (loginUrl === null) return null;
      const challenge = challenges.encryptChallenge({
        kind: 'login',
        loginTarget: fields,
        csrfBinding: digestOf(bound),
        language,
        isFresh,
        accountId: null,
        question: null,
      });
      return respondRedirect(withChallenge(loginUrl, challenge), cookies);
    },
    redirectToConsent({ transaction, accountId, consentRequest, afresh }, language) {
      if (consentUrl === null) return null;
      const challenge = challenges.encryptChallenge({
        kind: 'consent',
        loginTarget: { flow: transaction.record.id, ...(afresh && { afresh: 'yes' }) },
        csrfBinding: digestOf(transaction.csrfBinding),
        language,
        isFresh: false,
        accountId,
        question: hashSecret(serializeConsentRequest(consentRequest)),
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
