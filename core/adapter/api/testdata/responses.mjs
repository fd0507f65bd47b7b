// OpenAI's own client with the Responses API: a chain, a stream, a function, a kept answer. It prints one line of JSON.
import OpenAI from 'openai';

const client = new OpenAI();
const first = await client.responses.create({ model: 'any', instructions: 'Be brief.', input: 'My name is Bob.' });
const second = await client.responses.create({ model: 'any', input: 'context', previous_response_id: first.id });
const stream = client.responses.stream({ model: 'any', input: [{ role: 'user', content: 'context' }] });
const events = [];
for await (const event of stream) events.push(event.type);
const final = await stream.finalResponse();
const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'], additionalProperties: false }, strict: true }];
const asked = await client.responses.create({ model: 'any', input: 'weather', tools });
const call = asked.output[0];
const told = await client.responses.create({ model: 'any', previous_response_id: asked.id, tools,
  input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny' }] });
const kept = await client.responses.retrieve(second.id);
await client.responses.delete(second.id);
const gone = await client.responses.retrieve(second.id).catch(e => e.status);
const inConversation = await client.responses.create({ model: 'any', conversation: 'c1', input: 'context' });
const refused = await client.responses.create({ model: 'any', input: 'x', background: true }).catch(e => ({ status: e.status, param: e.param }));
console.log(JSON.stringify({ second: second.output_text, status: second.status, events, streamed: final.output_text, call: call.name, arguments: call.arguments,
  told: told.output_text, kept: kept.output_text, gone, conversation: inConversation.output_text, refused }));
