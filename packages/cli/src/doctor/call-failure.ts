/** Whose failure it is when a token was accepted, but the call behind it failed: of a gateway, or of the server behind one. */
import type { ResponsibleParty } from './report.ts';

interface CallFailure {
  readonly owner: ResponsibleParty;
  readonly remedy: string;
  readonly severity?: 'error';
  readonly temporary?: true;
}

const BY_STATUS: Readonly<Record<number, CallFailure>> = {
  403: {
    owner: 'gateway',
    remedy:
      'The token was accepted. A rule of the gateway does not allow this, or an account has to be connected there: follow the link in the message, or ask the operator.',
  },
  429: {
    owner: 'gateway',
    temporary: true,
    remedy: 'The token was accepted. A limit of the gateway is reached: try again later.',
  },
  502: {
    owner: 'gateway',
    severity: 'error',
    remedy:
      'The token was accepted. What the gateway sends to the server behind it is not: its operator has to check the credential and the URL, with `portcullis servers test`.',
  },
  503: {
    owner: 'backend',
    severity: 'error',
    temporary: true,
    remedy:
      'The token was accepted. The server behind the gateway does not answer: its operator has to start it, and can see why with `portcullis servers test`.',
  },
};

/** @param status of the last response; `null` if there was none */
export function explainCallFailure(status: number | null): CallFailure {
  return BY_STATUS[status ?? 0] ?? { owner: 'server', remedy: 'The authorization works: check the server.' };
}
