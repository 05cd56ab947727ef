/** Audit events about the event streams of receivers. */
import type { ComponentEvent } from '@portcullis/authorization-server';

/** A receiver manages a stream, or rejects a token of it. */
export type StreamEvent = ComponentEvent & { readonly clientId: string; readonly streamId: string } & (
    | { readonly type: 'event_stream.created' | 'event_stream.removed' }
    | { readonly type: 'event_stream.changed'; readonly status?: string }
    /** `state`: what the verification event repeats. */
    | { readonly type: 'event_stream.verification_requested'; readonly state?: string }
    | {
        readonly type: 'event_stream.event_rejected';
        /** The identifier of the security event token. */
        readonly token: string;
        readonly reason: string;
      }
  );
