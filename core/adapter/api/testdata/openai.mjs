// Talks to the server that OPENAI_BASE_URL names as an ordinary program does, and prints what it saw as JSON.
import OpenAI from "openai";

const client = new OpenAI();
const ask = (text, more) => ({ model: "any", messages: [{ role: "user", content: text }], ...more });

// caught is what a call failed with.
const caught = async (call) => {
  try {
    await call();
  } catch (e) {
    return { class: e.constructor.name, status: e.status ?? 0, type: e.type ?? "", code: e.code ?? "", message: e.message };
  }
  throw new Error("a call that should fail did not");
};

const plain = await client.chat.completions.create(ask("hello", { user: "alice" }));

const stream = { text: "", finish: "", total: 0 };
const chunks = await client.chat.completions.create(
  ask("hello", { stream: true, stream_options: { include_usage: true } }),
  { headers: { "X-Session-Key": "project" } },
);
for await (const chunk of chunks) {
  stream.text += chunk.choices[0]?.delta?.content ?? "";
  stream.finish = chunk.choices[0]?.finish_reason ?? stream.finish;
  stream.total = chunk.usage?.total_tokens ?? stream.total;
}

// The gateway's own events come as objects without choices.
const followed = { text: "", events: [] };
for await (const chunk of await client.chat.completions.create(
  ask("hello", { stream: true }), { headers: { "X-Session-Key": "project", "X-Gateway-Events": "1" } },
)) {
  followed.text += chunk.choices?.[0]?.delta?.content ?? "";
  const own = chunk.data ?? chunk;
  if (own.type?.startsWith("gateway.")) followed.events.push(`${own.type} ${own.doing ?? own.turn}`);
}
followed.events = followed.events.join(", ");

const models = [];
for await (const model of client.models.list()) models.push(model.id);

const refused = await caught(() => client.chat.completions.create(ask("refuse")));
const failed = await caught(() => client.chat.completions.create(ask("fail")));
const wrong = await caught(() => new OpenAI({ apiKey: "another-key" }).models.list());

let brokenText = "";
const brokenOff = await caught(async () => {
  for await (const chunk of await client.chat.completions.create(ask("break off", { stream: true }))) {
    brokenText += chunk.choices[0]?.delta?.content ?? "";
  }
});

console.log(JSON.stringify({
  plain: { text: plain.choices[0].message.content, finish: plain.choices[0].finish_reason, model: plain.model },
  stream, followed, models, refused, failed, brokenOff, wrong, brokenText,
}));
