// graphile-worker as a peer of the benchmark: one JSON command a line on stdin, one answer a line.
// Times are seconds, measured here around the calls that a user would make.
import { createInterface } from "node:readline";
import { makeWorkerUtils, run, runOnce } from "graphile-worker";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const utils = await makeWorkerUtils({ pgPool: pool });
await utils.migrate();
const preset = (concurrentJobs) => ({
  worker: {
    concurrentJobs,
    pollInterval: 1000,
    localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
});

const timed = async (work) => {
  const began = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - began) / 1e9;
};

const operations = {
  // Each batch in a transaction of its own; a job key holds while the row lives.
  enqueue: ({ batches, keyed }) =>
    timed(async () => {
      for (const keys of batches) {
        await pool.query(
          `select graphile_worker.add_jobs(array(select json_populate_record(
             null::graphile_worker.job_spec,
             json_build_object('identifier', 'work', 'payload', '{}'::json,
                               'job_key', case when $2 then k end))
             from unnest($1::text[]) k), true)`,
          [keys, keyed],
        );
      }
    }),
  drain: () =>
    timed(() => runOnce({ pgPool: pool, noHandleSignals: true, preset: preset(24), taskList: { work() {} } })),
  starts: async ({ n, gap }) => {
    const ran = new Map();
    const runner = await run({
      pgPool: pool,
      noHandleSignals: true,
      preset: { worker: { concurrentJobs: 10, pollInterval: 1000 } },
      taskList: { work: (payload) => ran.set(payload.n, process.hrtime.bigint()) && undefined },
    });
    const began = [];
    for (let i = 0; i < n; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, gap * 1000));
      began.push(process.hrtime.bigint());
      await utils.addJob("work", { n: i });
    }
    while (ran.size < n) await new Promise((resolve) => setTimeout(resolve, 20));
    await runner.stop();
    return began.map((at, i) => Number(ran.get(i) - at) / 1e6);
  },
};

const answer = (value) => process.stdout.write(`answer ${JSON.stringify(value)}\n`);
answer("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  answer(await operations[command.op](command));
}
await utils.release();
await pool.end();
