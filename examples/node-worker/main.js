// Two handlers, and a worker that runs until SIGTERM: `DATABASE_URL=... node main.js`.
import { Discard, Retry, Worker } from "./worker.js";

const handlers = {
  async greet(job) {
    console.log(JSON.stringify({ greeted: job.payload.name, for: job.logicalTime, key: job.key }));
  },
  async flaky(job) {
    if (job.payload.hopeless) throw new Discard("no customer in the payload");
    if (job.attempt === 1) throw new Retry("the bank is closed", 10);
  },
  async slow(job) {
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, job.payload.ms);
      job.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new Error(String(job.signal.reason)));
      });
    });
  },
};

const worker = new Worker(process.env.DATABASE_URL, handlers, {
  pollMs: Number(process.env.POLL_MS ?? 1000),
});
process.on("SIGTERM", () => worker.stop());
await worker.run();
