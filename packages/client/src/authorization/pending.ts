/** A flow between its request and its answer: everything that the answer is judged by, in one record. */
import type { Profile, Scopes } from '@portcullis/protocol';
import type { PrivateEcJwk } from '../jwk.ts';
import type { Registration } from '../registration/registration.ts';

/** Kept in the credential store until its answer comes, and then handed out once. */
export interface PendingAuthorization {
  readonly state: string;
  readonly codeVerifier: string;
  readonly server: string;
  readonly account: string;
  /** The validated issuer. */
  readonly issuer: string;
  readonly issuerAdvertised: boolean;
  readonly issuerRule: Profile['responseIssuer'];
  readonly tokenEndpoint: string;
  readonly registration: Registration;
  readonly redirectUri: string;
  readonly resource: string | null;
  readonly scopes: Scopes;
  readonly dpopKey: PrivateEcJwk | null;
  /** What the answer has to be brought with, where a host serves several people: its session, for example. */
  readonly binding: string | null;
  /** Epoch milliseconds after which the answer comes too late. */
  readonly expiresAt: number;
}
