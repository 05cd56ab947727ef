/** What is told wherever a command ends access: what nobody can take back. */

export const REVOCATION_DELAY_NOTICE: string =
  'A server elsewhere whose guard checks signatures only still takes an access token that is out, until it ends (after 10 minutes at most, unless lifetimes.accessToken says otherwise). ' +
  'Guards that poll status lists or introspect refuse it within seconds: see "How soon ended access is over" in docs/operating.md.';
