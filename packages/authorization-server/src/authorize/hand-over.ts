/** The ways to an application of the operator that shows pages of its own, as the pages of this server know them. */
import type { HttpResponse } from '@portcullis/http';
import type { Language } from '../ui/texts/languages.ts';
import type { Deliberation } from './deliberation.ts';
import type { FlowUnderWay } from './flow.ts';

export interface HandOver {
  /** The way to the application's sign-in; `null` when this server shows its own page. */
  toLogin(login: LoginToAsk, language: Language): HttpResponse | null;
  /** The way to the application's consent; `null` when this server shows its own page. */
  toConsent(asked: ConsentToAsk, language: Language): HttpResponse | null;
}

/** A consent that a person in this browser is asked for. */
interface ConsentToAsk {
  readonly flow: FlowUnderWay;
  readonly accountId: string;
  readonly deliberation: Deliberation;
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
