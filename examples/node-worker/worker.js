// A cronledger worker: claims jobs, runs their handlers, keeps their leases, settles them.
// Everything it does to the database is in docs/protocol.md.
import os from "node:os";
import { randomUUID } from "node:crypto";
import pg from "pg";

/** Thrown by a handler: no attempt will ever work. */
export class Discard extends Error {}

/** Thrown by a handler: try again, after so many milliseconds if given. */
export class Retry extends Error {
  constructor(message = "", after = null) {
    super(message);
    this.after = after;
  }
}

// bigint and interval come as text; ids stay text, because a number of JavaScript may not hold them.
pg.types.setTypeParser(pg.types.builtins.INTERVAL, (text) => text);

export class Worker {
  /**
   * @param {string} connectionString
   * @param {Record<string, (job: object) => Promise<unknown>>} handlers by kind
   * @param {{queues?: string[], concurrency?: number, pollMs?: number, log?: (line: object) => void}} options
   */
  constructor(connectionString, handlers, options = {}) {
    // One connection claims and settles; heartbeats have one of their own, so that nothing holds
    // them up.
    this.connection = new pg.Client({ connectionString });
    this.heart = new pg.Client({ connectionString });
    this.handlers = handlers;
    this.queues = options.queues ?? [];
    this.concurrency = options.concurrency ?? 4;
    this.pollMs = options.pollMs ?? 1000;
    this.log = options.log ?? ((line) => console.error(JSON.stringify(line)));
    this.name = `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
    this.running = new Map(); // token -> attempt
    this.stopping = false;
  }

  /** Work until stopped; what runs then is ended first. */
  async run() {
    await Promise.all([this.connection.connect(), this.heart.connect()]);
    const beat = setInterval(() => this.#extend(), 250);
    try {
      while (!this.stopping || this.running.size > 0) {
        if (!this.stopping) await this.#claim();
        await this.#pause();
      }
    } finally {
      clearInterval(beat);
      await Promise.all([this.connection.end(), this.heart.end()]);
    }
  }

  stop() {
    this.stopping = true;
    this.wake?.();
  }

  async #claim() {
    await this.connection.query("select cronledger.rescue(100)");
    const room = this.concurrency - this.running.size;
    if (room <= 0) return;
    // From the moment of sending: whatever the answer takes, the lease is no younger than that.
    const sent = performance.now();
    const { rows } = await this.connection.query(
      `select job_id, token, key, kind, queue, payload, logical_time, attempt, max_attempts,
              extract(epoch from lease) * 1000 as lease_ms,
              extract(epoch from timeout) * 1000 as timeout_ms
         from cronledger.claim($1::text[], $2::text[], $3, $4)`,
      [this.queues, Object.keys(this.handlers), room, this.name],
    );
    for (const row of rows) this.#start(row, sent);
  }

  #start(row, sent) {
    const attempt = {
      ...row,
      span: Number(row.lease_ms),
      heldUntil: sent + Number(row.lease_ms),
      extendAt: sent + Number(row.lease_ms) / 3,
      abort: new AbortController(),
    };
    this.running.set(row.token, attempt);
    this.#attempt(attempt).finally(() => {
      this.running.delete(row.token);
      this.wake?.();
    });
  }

  async #attempt(attempt) {
    const job = {
      id: attempt.job_id,
      key: attempt.key,
      kind: attempt.kind,
      queue: attempt.queue,
      payload: attempt.payload,
      logicalTime: attempt.logical_time,
      attempt: attempt.attempt,
      maxAttempts: attempt.max_attempts,
      token: attempt.token,
      signal: attempt.abort.signal,
    };
    let failure = null;
    let timer;
    const timeout = new Promise((_, reject) => {
      const late = Object.assign(new Error("ran too long"), { errorClass: "timeout" });
      timer = setTimeout(() => reject(late), Number(attempt.timeout_ms));
    });
    try {
      await Promise.race([this.handlers[attempt.kind](job), timeout]);
    } catch (error) {
      failure = error;
    } finally {
      clearTimeout(timer);
      attempt.over = true;
    }
    if (failure?.errorClass === "timeout") attempt.abort.abort("timeout");
    const outcome = attempt.lost ? "stale" : await this.#settle(attempt, failure);
    this.log({ event: "attempt", key: attempt.key, attempt: attempt.attempt, outcome });
  }

  async #settle(attempt, failure) {
    if (failure === null) {
      const { rows } = await this.connection.query(
        "select complete as id from cronledger.complete($1::bigint[], $2::bigint[])",
        [[attempt.job_id], [attempt.token]],
      );
      return rows.length === 1 ? "completed" : "stale";
    }
    const after = failure instanceof Retry ? failure.after : null;
    const { rows } = await this.connection.query(
      "select cronledger.fail($1, $2, $3, $4, $5, $6::interval) as outcome",
      [
        attempt.job_id,
        attempt.token,
        failure.errorClass ?? (failure instanceof Error ? failure.constructor.name : "Error"),
        String(failure?.message ?? failure).replaceAll("\u0000", "\\0"),
        !(failure instanceof Discard),
        after === null ? null : `${after} milliseconds`,
      ],
    );
    return rows[0].outcome;
  }

  async #extend() {
    const now = performance.now();
    const live = [...this.running.values()].filter((attempt) => !attempt.over && !attempt.lost);
    for (const attempt of live.filter((a) => now >= a.heldUntil - a.span / 10)) this.#lose(attempt);
    const due = live.filter((attempt) => !attempt.lost && now >= attempt.extendAt);
    if (due.length === 0 || this.beating) return;
    this.beating = true;
    try {
      const { rows } = await this.heart.query(
        "select job_id, cancel_requested from cronledger.extend($1::bigint[], $2::bigint[])",
        [due.map((a) => a.job_id), due.map((a) => a.token)],
      );
      const ours = new Map(rows.map((row) => [row.job_id, row.cancel_requested]));
      for (const attempt of due) {
        if (!ours.has(attempt.job_id)) this.#lose(attempt);
        else {
          attempt.heldUntil = now + attempt.span;
          attempt.extendAt = now + attempt.span / 3;
          if (ours.get(attempt.job_id)) attempt.abort.abort("cancelled");
        }
      }
    } catch (error) {
      // Not knowing is no loss: the lease holds until its end, and the next round asks again.
      this.log({ event: "extend_failed", message: error.message });
    } finally {
      this.beating = false;
    }
  }

  #lose(attempt) {
    if (attempt.over || attempt.lost) return;
    attempt.lost = true;
    attempt.abort.abort("lease_lost");
  }

  #pause() {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.pollMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
