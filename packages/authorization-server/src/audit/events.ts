/** Audit events of the authorization server, as one typed list. Private reasons appear only here, never in responses. */
import type { AccountRole, ProviderTokensEndReason } from '../store/index.ts';

/** A metadata request from the network of an authorization request, shortly before it. */
export interface MetadataDiscovery {
  readonly path: string;
  readonly version: string | null;
  /** Seconds before the authorization request. */
  readonly before: number;
}

/**
 * Which events are stored: `summary` leaves out ordinary refreshes, whose count and last use are stored with their grant, and routine
 * events of components: requests through a gateway that neither call anything nor were refused.
 */
export type AuditLevel = 'summary' | 'full';

/** Details of a rejected request for the operator, beside its reason. They may be input of an unauthenticated request. */
export interface RejectionFacts {
  readonly clientId?: string;
  readonly transactionId?: string;
  readonly requestedRedirectUri?: string;
  /** At most ten. */
  readonly registeredRedirectUris?: readonly string[];
}

/** Members that every event may have. Never a token, code, secret or cookie. */
type EventContext = {
  readonly clientId?: string;
  readonly accountId?: string;
  readonly grantId?: string;
  readonly resource?: string;
  readonly scopes?: readonly string[];
  /** The authorization transaction that it belongs to. */
  readonly transactionId?: string;
  /** The network that the request came from: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly network?: string;
  /** The reference shown on the user's error page. */
  readonly reference?: string;
  /** The trace of its request, where requests are traced; `undefined`: it belongs to none. */
  readonly traceId?: string | undefined;
};

/** An event of a component that is composed with the server, such as a gateway. It has further members, and holds no secret. */
export type ComponentEvent = EventContext & { readonly type: string };

/** The events of a component, as it declares them. */
export interface ComponentEvents<Event extends ComponentEvent> {
  /** Whether the audit log stores an event only if `auditLevel` is `full`. */
  isRoutine(event: Event): boolean;
  /** Whether an event is one of many: they are queued by themselves, so that a flood of them displaces no other event. */
  isBulk(event: Event): boolean;
  /** Receives each event with the transaction and network that it belongs to, as the option `events` those of the server. */
  listener(event: Event): void;
}

/** Who issued the tokens that an event is about: an identity provider, by its identifier, or a backend, by the path of its server. */
type TokenIssuer = { readonly identityProvider: string } | { readonly backend: string };

/** What a client did with a refresh token. */
export type RefreshTokenUse =
  | { readonly type: 'refresh_token.rotated' | 'refresh_token.reuse_detected' }
  /** The store lost rotations, and the token moved its family forward: a backup was restored, or a failover lost writes. */
  | { readonly type: 'refresh_token.ahead_of_store' }
  | {
      readonly type: 'refresh_token.retried';
      /** Few after a parallel request, more after a lost response, and always many if two parties have the token. */
      readonly secondsSinceRotation: number;
    };

/** What happens to the approval of a call. */
type ApprovalEvent = {
  readonly approvalId: string;
  /** The path of the server. */
  readonly server: string;
  readonly tool: string;
  /** The path of the rule that needs it. */
  readonly rule: string;
  /** SHA-256, base64url. */
  readonly argumentsHash: string;
} & (
  | { readonly type: 'approval.requested' }
  | {
      readonly type: 'approval.granted' | 'approval.denied';
      /** An account, or `operator`. */
      readonly decidedBy: string;
      /** Seconds since it was requested. */
      readonly waited: number;
      /** Seconds for which the same call is allowed again. */
      readonly reusableFor?: number;
      /** What the approver wrote to the app, on one line. */
      readonly reason?: string;
    }
  /** A call uses it, and is sent now. */
  | { readonly type: 'approval.consumed' }
  /** The call was sent, and the connection ended: whether it was executed is not known. */
  | { readonly type: 'approval.outcome_unknown' }
);

/** What an identity provider provisions, and the tokens of its connection. */
type ScimEvent =
  | {
      readonly type:
        | 'scim.user_created'
        | 'scim.user_changed'
        | 'scim.user_removed'
        | 'scim.group_created'
        | 'scim.group_changed'
        | 'scim.group_removed';
      readonly identityProvider: string;
      readonly resourceId: string;
      /** The identifier of the token that the request had. */
      readonly tokenId: string;
    }
  | { readonly type: 'scim.token_created'; readonly identityProvider: string; readonly tokenId: string }
  | { readonly type: 'scim.token_revoked'; readonly tokenId: string };

/** Security events that identity providers send, and the streams on which they arrive. */
type SharedSignalsEvent =
  | {
      readonly type: 'security_event.received';
      readonly identityProvider: string;
      /** The URI of its type. */
      readonly securityEvent: string;
      readonly outcome: 'applied' | 'ignored' | 'unknown_subject';
    }
  | { readonly type: 'security_event_stream.verified'; readonly identityProvider: string }
  | {
      readonly type: 'security_event_stream.updated';
      readonly identityProvider: string;
      readonly status: string;
    }
  | {
      readonly type: 'security_event_stream.failed';
      readonly identityProvider: string;
      readonly reason: string;
    };

/** An audit event. None contains a secret, a code or a token. */
export type AuthorizationEvent = EventContext &
  (
    | {
        readonly type: 'client.registered';
        /** The initial access token that was used, if any. */
        readonly initialAccessTokenId?: string;
        /** Redirect URIs that were not registered: this server does not allow their private-use schemes. */
        readonly droppedRedirectUris?: readonly string[];
      }
    | {
        readonly type: 'client.changed';
        readonly droppedRedirectUris?: readonly string[];
        /** The client changed itself: an administrator has not verified what it is now. */
        readonly verificationEnded?: true;
      }
    | { readonly type: 'client.added' | 'client.removed' }
    /** `previousUntil`: epoch seconds until which the replaced secret is accepted. */
    | { readonly type: 'client.secret_rotated'; readonly previousUntil: number }
    | { readonly type: 'client.disabled' | 'client.enabled' | 'client.verified' | 'client.unverified' }
    | {
        readonly type: 'initial_access_token.created' | 'initial_access_token.revoked';
        readonly initialAccessTokenId: string;
      }
    | {
        readonly type: 'client_metadata_document.rejected';
        readonly reason: string;
        /** Whether the last valid copy was used instead. */
        readonly lastGoodCopy: boolean;
      }
    | {
        readonly type: 'account.created' | 'login.succeeded' | 'login.failed';
        /** The identity provider of a federated login. */
        readonly identityProvider?: string;
        /** The session that began in a browser without a device cookie, if mail is on. */
        readonly sessionId?: string;
        /** That browser, such as `Firefox on Linux`, in fixed words. */
        readonly browser?: string;
      }
    /** A redirect to an issuer, tokens of a login that were not needed, and tokens that are stored now. */
    | (TokenIssuer & {
        readonly type:
          | 'federated_login.started'
          | 'provider_token.discarded'
          | 'provider_token.stored'
          | 'provider_token.refreshed';
      })
    /** A login at the issuer failed, or it could not be reached. */
    | (TokenIssuer & {
        readonly type: 'federated_login.failed' | 'identity_provider.failed';
        readonly reason: string;
      })
    /** Provider tokens have ended, and their grant with them; a connected account ends alone. */
    | (TokenIssuer & { readonly type: 'provider_token.ended'; readonly reason: ProviderTokensEndReason })
    /** Tokens were revoked at their issuer, or why they were not. */
    | (TokenIssuer & {
        readonly type: 'provider_token.revocation_finished';
        readonly outcome: 'revoked' | 'unsupported' | 'shared' | 'nothing' | 'given_up';
        readonly reason?: string;
      })
    | { readonly type: 'data_key.created'; readonly keyId: string }
    | {
        readonly type:
          | 'account.disabled'
          | 'account.enabled'
          | 'account.removed'
          | 'account.reset_link_created';
        /** The identity provider that provisions the user, if that is why. */
        readonly identityProvider?: string;
      }
    | { readonly type: 'account.link_used'; readonly purpose: 'invitation' | 'reset' }
    | ScimEvent
    | SharedSignalsEvent
    /** An operator invited the owner of an account by mail. */
    | { readonly type: 'account.invitation_requested' }
    /** A user forgot the password: mail with a reset link, in the language of the page. */
    | { readonly type: 'account.reset_requested'; readonly language: string }
    /** A user wants to sign in by a link: to this login target, and in this browser. */
    | {
        readonly type: 'account.sign_in_link_requested';
        readonly language: string;
        readonly loginTarget: Readonly<Record<string, string>>;
        /** A hash of what the browser carries; no secret. */
        readonly browser: string;
      }
    | { readonly type: 'account.link_refused'; readonly reason: 'unknown' | 'disabled' }
    /** `null`: the account administers nothing. */
    | {
        readonly type: 'account.role_changed';
        readonly role: AccountRole | null;
        readonly previousRole: AccountRole | null;
      }
    | {
        readonly type: 'account.profile_changed';
        /** Without provisioned ones, which have events of their own. */
        readonly groups: readonly string[];
        readonly previousGroups: readonly string[];
        /** Where the user signed in; absent: an operator set them. */
        readonly identityProvider?: string;
      }
    | { readonly type: 'password.changed' }
    | { readonly type: 'second_factor.enabled' | 'second_factor.recovery_codes_renewed' }
    | { readonly type: 'second_factor.disabled'; readonly reason?: 'operator' }
    | { readonly type: 'passkey.added'; readonly passkeyId: string }
    | { readonly type: 'passkey.removed'; readonly passkeyId: string; readonly reason?: 'operator' }
    | { readonly type: 'passkey.clone_detected' }
    | {
        readonly type: 'grant.revoked' | 'session.ended';
        readonly count: number;
        /** The user has too many grants for this client, or reported by mail that it was someone else; or an operator ended them. */
        readonly reason?: 'surplus' | 'reported' | 'operator';
        /** The identity provider that reported a logout. */
        readonly identityProvider?: string;
      }
    | { readonly type: 'metadata.read'; readonly path: string; readonly version: string | null }
    | {
        readonly type: 'authorization.started';
        /** Metadata read from the same network shortly before: presumably by this client. */
        readonly discovery?: MetadataDiscovery;
      }
    | { readonly type: 'consent.allowed' | 'consent.remembered' | 'consent.denied' }
    | { readonly type: 'authorization_code.issued' | 'authorization_code.replayed' }
    /** A device requested access, and its user's decision. */
    | {
        readonly type:
          | 'device_authorization.started'
          | 'device_authorization.approved'
          | 'device_authorization.denied';
      }
    | ApprovalEvent
    /** A user created a token; it ends with its grant. */
    | { readonly type: 'personal_access_token.created' }
    | {
        readonly type: 'token.issued';
        readonly grantType: string;
        /** Issuer and subject of the assertion that it was issued for. */
        readonly issuer?: string;
        readonly subject?: string;
        /** The issuer whose organization manages the grant. */
        readonly managedBy?: string;
        /** Actors of the assertion, the latest first: `sub@iss`. @see RFC 8693 §4.1 */
        readonly actors?: readonly string[];
      }
    /** A protected resource obtained a token for another one: it and the actors before it, the latest first; `sub@iss` if another issuer named it. */
    | { readonly type: 'token.exchanged'; readonly actors: readonly string[] }
    /** A client obtained an ID-JAG for another authorization server. */
    | { readonly type: 'assertion.issued'; readonly audience: string; readonly actors?: readonly string[] }
    /** An assertion with a verified email address linked its subject to a local account. */
    | { readonly type: 'account.linked'; readonly issuer: string }
    /** A resource server checked a token of this grant for the first time, and it was live. */
    | {
        readonly type: 'token.first_used';
        /** By introspection; absent in the same process. */
        readonly introspected?: boolean;
      }
    /** A protected resource obtained a provider token; `scopes` are those of the provider. */
    | { readonly type: 'provider_token.released'; readonly identityProvider: string }
    | RefreshTokenUse
    | { readonly type: 'token.revoked' }
    | { readonly type: 'key.created' | 'key.rotated' | 'key.removed'; readonly keyId: string }
    | { readonly type: 'key.reencrypted' | 'audit.dropped'; readonly count: number }
    /** Events that were stored long after they happened: those from the first identifier to the last include them. */
    | {
        readonly type: 'audit.delayed';
        readonly first: string;
        readonly last: string;
        readonly count: number;
      }
    | { readonly type: 'key_ring.refresh_failed'; readonly reason: string }
    | {
        readonly type: 'request.rejected';
        readonly endpoint: string;
        readonly error: string;
        readonly reason: string;
        /** The path of the configured rule that refused it. */
        readonly rule?: string;
        readonly requestedRedirectUri?: string;
        readonly registeredRedirectUris?: readonly string[];
      }
    | { readonly type: 'request.failed'; readonly endpoint: string; readonly reason: string }
  );

/** Receives events as they happen. It must not throw. */
export type EventSink = (event: AuthorizationEvent) => void;
