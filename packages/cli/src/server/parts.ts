/** The components of a process. */
import type { DecisionPoint } from '@portcullis/gateway';
import type { EndedGrants } from './ended-grants.ts';
import type { Log } from './log.ts';
import type { ComponentMetrics } from './metrics/component-metrics.ts';
import type { Prepared } from './prepare.ts';
import type { Membership } from './processes/membership.ts';
import type { Storage } from './storage.ts';

export interface Parts {
  readonly prepared: Prepared;
  /** The public URL: the issuer, byte for byte. */
  readonly issuer: string;
  readonly masterKey: Uint8Array;
  readonly previousMasterKeys: readonly Uint8Array[];
  readonly storage: Storage;
  /** For open streams. */
  readonly endedGrants: EndedGrants;
  /** `null`: none is configured. */
  readonly decisionPoint: DecisionPoint | null;
  readonly log: Log;
  /** How many log lines were dropped since the start. */
  readonly droppedLines: () => number;
  readonly metrics: ComponentMetrics;
  /** `null` in a single-process server. */
  readonly membership: Membership | null;
}
