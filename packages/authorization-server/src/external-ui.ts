/** The ways to an application of the operator that shows pages of its own, as the pages of this server know them. */
import type { HttpResponse } from '@portcullis/http';
import type { BrowserTransaction } from './authorization/transaction.ts';
import type { ConsentRequest } from './consent/consent-request.ts';
import type { Language } from './ui/texts/languages.ts';

export interface ExternalUi {
  /** The way to the application's sign-in; `null` when this server shows its own page. */
  redirectToLogin(login: LoginToAsk, language: Language): HttpResponse | null;
  /** The way to the application's consent; `null` when this server shows its own page. */
  redirectToConsent(asked: ConsentToAsk, language: Language): HttpResponse | null;
}

/** A consent that a person in this browser is asked for. */
interface ConsentToAsk {
  readonly transaction: BrowserTransaction;
  readonly accountId: string;
  readonly consentRequest: ConsentRequest;
  /** Whether the person looks for another workspace. */
  readonly afresh: boolean;
}

/** A login that the application is asked for. */
interface LoginToAsk {
  /** What the callback carries to find the login target again. */
  readonly fields: Readonly<Record<string, string>>;
  /** What the response is bound to in this browser. */
  readonly binding: readonly string[];
  readonly requiresFreshLogin: boolean;
  readonly cookies: readonly string[];
}
