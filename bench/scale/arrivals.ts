/** Arrivals at random, as many users cause them: independent of each other and of how long responses take (a Poisson process). */
import { Worker } from 'node:worker_threads';
import type { Arrive } from '../harness/load.ts';

/** A timer of Node has whole milliseconds, so that arrivals would fall together; `Atomics.wait` has fractions. */
const SOURCE = `
  const { parentPort, workerData } = require('node:worker_threads');
  const never = new Int32Array(new SharedArrayBuffer(4));
  const now = () => performance.timeOrigin + performance.now();
  const end = now() + workerData.seconds * 1000;
  for (let due = now(); due < end; due -= (Math.log(1 - Math.random()) * 1000) / workerData.perSecond) {
    if (due > now()) Atomics.wait(never, 0, 0, due - now());
    parentPort.postMessage(due);
  }`;

export function createArrivals(perSecond: number, seconds: number): Arrive {
  const due: number[] = [];
  const idle: ((due: number | null) => void)[] = [];
  let isOver = false;
  const worker = new Worker(SOURCE, { eval: true, workerData: { perSecond, seconds } });
  worker.on('message', (time: number) => {
    const [at, begin] = [time - performance.timeOrigin, idle.shift()];
    if (begin === undefined) due.push(at);
    else begin(at);
  });
  worker.once('exit', () => {
    isOver = true;
    for (const begin of idle.splice(0)) begin(null);
  });
  return () => {
    const first = due.shift();
    if (first !== undefined) return Promise.resolve(first);
    return isOver ? Promise.resolve(null) : new Promise((resolve) => void idle.push(resolve));
  };
}
