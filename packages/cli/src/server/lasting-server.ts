/** A proxy to the current authorization server, for guards, gateway and application: reconfiguring the servers replaces its target. */
import type { AuthorizationServer } from '@portcullis/authorization-server';

export type LastingServer = Pick<
  AuthorizationServer,
  | 'issuer'
  | 'jwks'
  | 'isLive'
  | 'readPersonalAccessToken'
  | 'upstreamToken'
  | 'upstreamIdToken'
  | 'signUserAssertion'
  | 'connectedAccounts'
  | 'approvals'
  | 'dpopNonces'
  | 'recordOf'
  | 'securityEventKeys'
  | 'componentPages'
>;

/** @param current the current authorization server; all share the store and keys */
export function createLastingServer(current: () => AuthorizationServer): LastingServer {
  return {
    issuer: current().issuer,
    jwks: () => current().jwks(),
    isLive: (claims, keyId) => current().isLive(claims, keyId),
    readPersonalAccessToken: (token) => current().readPersonalAccessToken(token),
    upstreamToken: (claims, want) => current().upstreamToken(claims, want),
    upstreamIdToken: (grantId, clientId) => current().upstreamIdToken(grantId, clientId),
    signUserAssertion: (user, audience) => current().signUserAssertion(user, audience),
    connectedAccounts: {
      find: (grantId, backend) => current().connectedAccounts.find(grantId, backend),
      replace: (grantId, backend, version) => current().connectedAccounts.replace(grantId, backend, version),
      createLink: (grantId, backend, scopes) =>
        current().connectedAccounts.createLink(grantId, backend, scopes),
    },
    approvals: { request: (call) => current().approvals.request(call) },
    dpopNonces: current().dpopNonces,
    componentPages: {
      findSession: (request) => current().componentPages.findSession(request),
      csrfToken: (session) => current().componentPages.csrfToken(session),
      isOwnForm: (request, session, token) => current().componentPages.isOwnForm(request, session, token),
      redirectToLogin: (path) => current().componentPages.redirectToLogin(path),
      takeReturnPath: (request) => current().componentPages.takeReturnPath(request),
      look: current().componentPages.look,
    },
    securityEventKeys: {
      sign: (claims) => current().securityEventKeys.sign(claims),
      encrypt: (text, context) => current().securityEventKeys.encrypt(text, context),
      isCurrent: (ciphertext) => current().securityEventKeys.isCurrent(ciphertext),
      decrypt: (ciphertext, context) => current().securityEventKeys.decrypt(ciphertext, context),
    },
    recordOf: (events, event) => current().recordOf(events, event),
  };
}
