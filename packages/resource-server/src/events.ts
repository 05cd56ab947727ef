/** What happens at a guard, as one typed list: the only place where private reasons go. */
import type { Scopes } from '@portcullis/protocol/protected-resource';

/** Never a token, and nothing of a request's body. */
export type GuardEvent =
  | {
      readonly type: 'request.rejected';
      readonly status: number;
      /** OAuth error code, or what was wrong before a token was looked at. */
      readonly error: string;
      /** For the operator alone. */
      readonly reason: string;
      readonly resource: string | null;
    }
  | {
      /** A client was told to ask for more: the operation needs scopes that the token has not. */
      readonly type: 'scopes.missing';
      readonly resource: string;
      readonly issuer: string;
      readonly subject: string;
      readonly clientId: string;
      readonly grantId: string | null;
      /** `jti`: what ties the step-up to the token that was not enough. */
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

/** Takes events as they happen. It must not throw. */
export type GuardEventSink = (event: GuardEvent) => void;

/** Where nobody listens, a failure must not vanish. */
export const reportFailures: GuardEventSink = (event) => {
  if (event.type === 'request.failed') console.error(`portcullis: ${event.reason}`, event.cause);
};
