/** The guard: admits a request to a protected server, or answers it itself. */
import { type Admission, admit } from './admission.ts';
import type { GuardAnswer } from './answers.ts';
import { defineConfiguration } from './configuration.ts';
import { createPossession } from './dpop/possession.ts';
import type { Facts } from './facts.ts';
import type { GuardOptions } from './options.ts';
import { createPublicAnswers } from './public-answers.ts';
import { createRefusals } from './refusals.ts';
import { createStandings } from './standing.ts';
import { createWatch, type Watch } from './streams.ts';

export type { Admission } from './admission.ts';
export type { Facts } from './facts.ts';

/** What stands before the protected servers of one configuration. Adapters put it into the words of a framework. */
export interface Guard {
  /** The canonical URIs of the resources that it protects. */
  readonly resources: readonly string[];
  /** Answers what needs no token, metadata and preflights of its resources; `null` for every other request. */
  answer(facts: Facts): GuardAnswer | null;
  /**
   * Judges a request, whatever its path: metadata and preflights are answered too. At once where nothing has to be
   * waited for, as with a token seen before; neither throws nor rejects.
   */
  admit(facts: Facts): Admission | Promise<Admission>;
  /**
   * The answer for an error of the application: an `OAuthError`, such as `insufficient_scope` found out late, becomes a
   * challenge; anything else 500 without details.
   */
  refuse(error: unknown, facts: Facts): GuardAnswer;
  /**
   * Ends streams with their token. Adapters have event streams watched over; whoever keeps something else open, such as
   * a socket, does it here. `null` where `streams` is `false`.
   */
  readonly watch: Watch | null;
}

/**
 * Creates a guard.
 * @throws ConfigurationError with every fault of the options.
 */
export function createGuard(options: GuardOptions): Guard {
  const configuration = defineConfiguration(options);
  const { resources, dpop, clock, streams } = configuration;
  const standings = createStandings(configuration);
  const refusals = createRefusals(configuration);
  const publicAnswers = createPublicAnswers(configuration, refusals);
  const possession = dpop && createPossession(dpop, clock);
  const judges = { configuration, standings, possession, refusals, publicAnswers };
  return {
    resources: resources.map(({ resource }) => resource),
    answer: publicAnswers.answer,
    admit: (facts) => admit(judges, facts),
    refuse: refusals.refuse,
    watch: createWatch(streams, configuration, standings),
  };
}
