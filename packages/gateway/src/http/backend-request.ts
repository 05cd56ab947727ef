/** One attempt to send a request to an address: the dispatch handler, which reports nothing once dropped. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Address } from '../addresses/addresses.ts';
import { MAX_BUFFERED_RESPONSE } from '../limits.ts';
import type { ResponseHead } from './exchange-phases.ts';
import { StreamedBody } from './streamed-body.ts';

/** Callbacks of an attempt. */
export interface BackendRequestListener {
  head(address: Address, head: ResponseHead): void;
  data(chunk: Buffer): void;
  complete(): void;
  /** The connection failed or could not be opened. */
  lost(address: Address, error: Error): void;
}

class BackendRequestAborted extends Error {
  override readonly name: string = 'BackendRequestAborted';
}

const COMPLETE = (listener: BackendRequestListener): void => listener.complete();

export class BackendRequest implements Dispatcher.DispatchHandler {
  readonly address: Address;
  readonly #isLasting: boolean;
  /** `null`: it was dropped. */
  #listener: BackendRequestListener | null;
  /** `null`: there is no connection yet. */
  #controller: Dispatcher.DispatchController | null = null;
  /**
   * Whether undici may pause: when a paused connection ends that is not used again, it fails, and with it the process. Nothing
   * here says whether a response is of HTTP/1.0, unless it names its connection or is chunked.
   * @see https://github.com/nodejs/undici/issues/5360
   */
  #mayPause = true;
  /** What has arrived since such a response was paused; `null`: it is not. */
  #buffered: ((listener: BackendRequestListener) => void)[] | null = null;
  /** Their bytes. */
  #length = 0;

  /** @param isLasting whether its response is a stream that stays open until one side ends it */
  constructor(address: Address, isLasting: boolean, listener: BackendRequestListener) {
    this.address = address;
    this.#isLasting = isLasting;
    this.#listener = listener;
  }

  dispatch(method: Dispatcher.HttpMethod, headers: string[], body: Buffer | StreamedBody | null): void {
    if (this.#listener === null) return;
    const sent = body instanceof StreamedBody ? body.open() : body;
    const { pool, target: path } = this.address;
    if (this.#isLasting) pool.openStream({ path, method, headers, body: sent }, this);
    else pool.dispatch({ path, method, headers, body: sent }, this);
  }

  pause(): void {
    if (this.#mayPause) this.#controller?.pause();
    else this.#buffered ??= [];
  }

  resume(): void {
    this.#controller?.resume();
    const buffered = this.#buffered ?? [];
    this.#buffered = null;
    this.#length = 0;
    for (const report of buffered) this.#report(report);
  }

  drop(): void {
    this.#listener = null;
    this.#controller?.abort(new BackendRequestAborted());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#listener === null) controller.abort(new BackendRequestAborted());
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    const connection = String(headers['connection'] ?? '');
    const isKnown = 'transfer-encoding' in headers || /\bkeep-alive\b/i.test(connection);
    this.#mayPause = isKnown && !/\bclose\b/i.test(connection);
    // Unused here; a stream would retain them, with the bytes of the head.
    controller.rawHeaders = null;
    this.#listener?.head(this.address, { status, headers });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#buffered === null) {
      this.#listener?.data(chunk);
      return;
    }
    this.#length += chunk.length;
    this.#report((listener) => listener.data(chunk));
    if (this.#length <= MAX_BUFFERED_RESPONSE) return;
    const listener = this.#listener;
    this.drop();
    listener?.lost(this.address, new Error('more than is buffered arrived while the response was paused'));
  }

  onResponseEnd(): void {
    this.#report(COMPLETE);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#report((listener) => listener.lost(this.address, error));
  }

  /** The listener may pause again at any time. */
  #report(report: (listener: BackendRequestListener) => void): void {
    if (this.#buffered !== null) this.#buffered.push(report);
    else if (this.#listener !== null) report(this.#listener);
  }
}
