// The samples: columns for filters, opened at first use; texts in chunks, opened when shown or searched.
const UNPARSED = 1, TRUNCATED = 2, EMPTY = 4, OTHER_PROMPT = 8, UNSURE = 16;

async function unpack(id) {
  const text = typeof id === "string" ? document.getElementById(id).textContent : id.textContent;
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index += 1) bytes[index] = raw.charCodeAt(index);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
const STORE = {
  columns: null, // once opened
  opening: null,
  chunks: [...document.querySelectorAll("script.chunk")],
  texts: new Map(), // chunk number -> rows, the latest few
  waiting: new Map(),
  open() {
    this.opening = this.opening || unpack("index").then((text) => {
      this.columns = JSON.parse(text);
      return this.columns;
    });
    return this.opening;
  },
  chunk(number) {
    if (this.texts.has(number)) return Promise.resolve(this.texts.get(number));
    if (!this.waiting.has(number)) {
      this.waiting.set(
        number,
        unpack(this.chunks[number]).then((text) => {
          const rows = JSON.parse(text);
          this.texts.set(number, rows);
          this.waiting.delete(number);
          if (this.texts.size > 24) this.texts.delete(this.texts.keys().next().value);
          return rows;
        }),
      );
    }
    return this.waiting.get(number);
  },
  async sample(row) {
    const rows = await this.chunk(this.columns.chunk[row]);
    return rows[this.columns.at[row]];
  },
};
function textsOf(sample) {
  const texts = [sample.prompt, sample.target, sample.published || ""];
  for (const reply of sample.replies) {
    if (!reply) continue;
    texts.push(reply.output, reply.prompt || "", ...Object.values(reply.answers));
    if (reply.judge) texts.push(reply.judge.reply);
  }
  return texts;
}
// Rows of `candidates` whose id or texts contain `query` (lower case), chunk by chunk; `progress` sees them grow.
async function search(candidates, query, progress, cancelled) {
  const escaped = JSON.stringify(query).slice(1, -1);
  const byChunk = new Map();
  for (const row of candidates) {
    const chunk = STORE.columns.chunk[row];
    if (!byChunk.has(chunk)) byChunk.set(chunk, []);
    byChunk.get(chunk).push(row);
  }
  const found = [];
  let done = 0;
  for (const [chunk, rows] of byChunk) {
    const byId = new Set(rows.filter((row) => STORE.columns.id[row].toLowerCase().includes(query)));
    let samples = STORE.texts.get(chunk);
    if (!samples) {
      const text = await unpack(STORE.chunks[chunk]);
      // Most chunks lack a rare word: parsing is saved for those that have it.
      if (text.toLowerCase().includes(escaped)) samples = JSON.parse(text);
    }
    if (cancelled()) return null;
    for (const row of rows) {
      if (
        byId.has(row) ||
        (samples && textsOf(samples[STORE.columns.at[row]]).some((text) => text.toLowerCase().includes(query)))
      ) found.push(row);
    }
    done += 1;
    progress(found, done / byChunk.size);
  }
  return found;
}
