/** The shared suite that every adapter must pass. */
import { describe } from 'vitest';
import { describeBadTokens } from './suite/bad-tokens.ts';
import { describeBoundTokens } from './suite/bound-tokens.ts';
import { describeChallenges } from './suite/challenges.ts';
import { describeFailures } from './suite/failures.ts';
import { describeHandles } from './suite/handles.ts';
import { describeMetadata } from './suite/metadata.ts';
import { describePages } from './suite/pages.ts';
import { describePresenting } from './suite/presenting.ts';
import { describePublicOperations } from './suite/public-operations.ts';
import { describeScopes } from './suite/scopes.ts';
import { createStage } from './suite/stage.ts';
import { describeStreams } from './suite/streams.ts';
import { describeWithoutToken } from './suite/without-token.ts';
import type { Start } from './support/server.ts';

export function describeAdapter(name: string, start: Start): void {
  describe(`behind ${name}`, () => {
    const stage = createStage(start);
    describeWithoutToken(stage);
    describePresenting(stage);
    describeBadTokens(stage);
    describeBoundTokens(stage);
    describeHandles(stage);
    describeScopes(stage);
    describePublicOperations(stage);
    describeChallenges(stage);
    describeMetadata(stage);
    describePages(stage);
    describeFailures(stage);
    describeStreams(stage);
  });
}
