/** The notice printed by every revoking command: offline verifiers accept issued access tokens until they expire. */

export const REVOCATION_DELAY_NOTICE: string =
  'Remote servers whose guard only verifies signatures accept issued access tokens until they expire (within 10 minutes, unless lifetimes.accessToken is set). ' +
  'Guards that introspect reject them within seconds: see "When ended access takes effect" in docs/operating.md.';
