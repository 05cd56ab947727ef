/** The store capability `deviceAuthorizations`: requests of devices that wait for a user elsewhere (RFC 8628). */
import type { Scopes } from '@portcullis/protocol';

/** A device authorization. Times in epoch seconds. */
export interface DeviceAuthorizationRecord {
  /** Base64url SHA-256 of the device code. */
  readonly hash: string;
  /** Base64url SHA-256 of the user code. */
  readonly userCodeHash: string;
  readonly clientId: string;
  /** The requested scopes; `null`: the default ones. */
  readonly scopes: Scopes | null;
  /** The requested resource; `null`: the default one. */
  readonly resource: string | null;
  /** The PKCE challenge of its authorization code, which no client can redeem otherwise. */
  readonly codeChallenge: string;
  /** The network address of the device; `null` when unknown. */
  readonly requestedFrom: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Seconds between two polls. */
  readonly pollInterval: number;
  /** What the user decided; `null`: nothing yet. */
  readonly outcome: 'approved' | 'denied' | null;
  /** The lookup key of the authorization code that the approval issued. */
  readonly codeHash: string | null;
}

/** Store capability for the device authorization grant. @see RFC 8628 */
export interface DeviceAuthorizationStore {
  /** @returns `false` when the user code is taken: nothing has changed then */
  saveDeviceAuthorization(record: Omit<DeviceAuthorizationRecord, 'outcome' | 'codeHash'>): Promise<boolean>;
  /** The pending authorization of this user code; `null` when it was decided or has expired. */
  findDeviceAuthorizationByUserCode(
    userCodeHash: string,
    now: number,
  ): Promise<DeviceAuthorizationRecord | null>;
  /** The authorization of a device code, whatever its state. */
  findDeviceAuthorization(hash: string): Promise<DeviceAuthorizationRecord | null>;
  /**
   * Records the decision. Atomic: of concurrent calls one returns `true`.
   * @param codeHash of the issued authorization code; `null`: the user denied access
   */
  decideDeviceAuthorization(hash: string, codeHash: string | null, now: number): Promise<boolean>;
  /** Records a poll. @returns `false` when it was too early: the interval is `slower` seconds longer from then on */
  recordDevicePoll(hash: string, now: number, slower: number): Promise<boolean>;
}
