/** What is answered to anybody: metadata documents, preflights, and strangers that are turned away. */
import type { GuardAnswer } from './answers.ts';
import type { Configuration } from './configuration.ts';
import type { Facts } from './facts.ts';
import { createMetadataRoom, foreignMetadataAnswer } from './metadata.ts';
import { preflightAnswer } from './origins.ts';
import { isPresent, type Refusals } from './refusals.ts';
import { isWithin, pathOf } from './target.ts';

export interface PublicAnswers {
  /** To metadata and preflights of the resources; `null` for every other request. */
  answer(facts: Facts): GuardAnswer | null;
  /** The same at a path that was handed to the guard for judgement: that is its own, and so is every preflight. */
  answerAtOnce(path: string, facts: Facts): GuardAnswer | null;
}

/** Creates what answers before a token is looked at. */
export function createPublicAnswers(
  { resources, origins }: Configuration,
  { refuseStranger }: Refusals,
): PublicAnswers {
  const serveMetadata = createMetadataRoom(resources.flatMap(({ document }) => document ?? []));
  return {
    answer(facts) {
      const path = pathOf(facts.url);
      const document = serveMetadata(facts.method, path);
      if (document !== null || !isPreflight(facts)) return document;
      return resources.some((resource) => isWithin(resource, path))
        ? preflightAnswer(origins, facts.origin)
        : null;
    },
    answerAtOnce(path, facts) {
      const document = serveMetadata(facts.method, path) ?? foreignMetadataAnswer(path);
      if (document !== null) return document;
      return isPreflight(facts) ? preflightAnswer(origins, facts.origin) : refuseStranger(facts);
    },
  };
}

/** @see Fetch §3.3.2 */
function isPreflight(facts: Facts): facts is Facts & { readonly origin: string } {
  return facts.method === 'OPTIONS' && isPresent(facts.requestedMethod) && isPresent(facts.origin);
}
