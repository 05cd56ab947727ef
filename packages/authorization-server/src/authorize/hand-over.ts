/** The ways to an application of the operator that shows pages of its own, as the pages of this server know them. */
import type { HttpResponse } from '@portcullis/http';
import type { Language } from '../pages/texts/languages.ts';
import type { Deliberation } from './deliberation.ts';
import type { Errand } from './errand.ts';
import type { FlowUnderWay } from './flow.ts';

export interface HandOver {
  /** The way to the application's sign-in; `null` when this server shows its own page. */
  toLogin(errand: Errand, language: Language): HttpResponse | null;
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
