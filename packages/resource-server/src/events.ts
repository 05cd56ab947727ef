/** Events of the guard, as one typed list: the only place that private reasons go to. */
import type { Scopes } from '@portcullis/protocol';

/** Events contain neither tokens nor request bodies. */
export type GuardEvent =
  | {
      readonly type: 'request.rejected';
      readonly status: number;
      /** The OAuth error code, or what was wrong before the token was checked. */
      readonly error: string;
      /** For the operator only. */
      readonly reason: string;
      readonly resource: string | null;
    }
  | {
      /** The client was asked to step up: the operation requires scopes that the token lacks. */
      readonly type: 'scopes.missing';
      readonly resource: string;
      readonly issuer: string;
      readonly subject: string;
      readonly clientId: string;
      readonly grantId: string | null;
      /** `jti`, which connects the step-up with the token. */
      readonly tokenId: string;
      readonly needed: Scopes;
      readonly granted: Scopes;
    }
  | {
      /** The guard or the application behind it failed. */
      readonly type: 'request.failed';
      readonly resource: string | null;
      readonly reason: string;
      readonly cause: unknown;
    };

/** Receives events. It must not throw. */
export type GuardEventSink = (event: GuardEvent) => void;

/** Without a sink, failures are still reported. */
export const reportFailures: GuardEventSink = (event) => {
  if (event.type === 'request.failed') console.error(`portcullis: ${event.reason}`, event.cause);
};
