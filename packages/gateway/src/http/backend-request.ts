/** One attempt to send a request to an address: the dispatch handler, which reports nothing once dropped. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Address } from '../addresses/addresses.ts';
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

export class BackendRequest implements Dispatcher.DispatchHandler {
  readonly address: Address;
  readonly #isLasting: boolean;
  /** `null`: it was dropped. */
  #listener: BackendRequestListener | null;
  /** `null`: there is no connection yet. */
  #controller: Dispatcher.DispatchController | null = null;

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
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
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
    // Unused here; a stream would retain them, with the bytes of the head.
    controller.rawHeaders = null;
    this.#listener?.head(this.address, { status, headers });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#listener?.data(chunk);
  }

  onResponseEnd(): void {
    this.#listener?.complete();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#listener?.lost(this.address, error);
  }
}
