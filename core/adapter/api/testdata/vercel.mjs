// The Vercel AI SDK as its documentation shows it: text, streams, a tool, both forms of the API. It prints one line of JSON.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText, tool, jsonSchema, stepCountIs } from 'ai';

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const weather = tool({
  description: 'Weather of a place.',
  inputSchema: jsonSchema({ type: 'object', properties: { place: { type: 'string' } }, required: ['place'] }),
  execute: async ({ place }) => `sunny in ${place}`,
});
const got = {};
for (const [form, model] of [['chat', openai.chat('any')], ['responses', openai.responses('any')]]) {
  const plain = await generateText({ model, system: 'Be brief.', messages: [
    { role: 'user', content: 'My name is Bob.' }, { role: 'assistant', content: 'Ahoy.' }, { role: 'user', content: 'context' },
  ] });
  const stream = streamText({ model, prompt: 'context' });
  let streamed = '';
  for await (const piece of stream.textStream) streamed += piece;
  const withTool = await generateText({ model, prompt: 'weather', tools: { weather }, stopWhen: stepCountIs(3) });
  const toolStream = streamText({ model, prompt: 'weather', tools: { weather }, stopWhen: stepCountIs(3) });
  let toolStreamed = '';
  for await (const piece of toolStream.textStream) toolStreamed += piece;
  got[form] = { plain: plain.text, finish: plain.finishReason, streamed, tool: withTool.text, steps: withTool.steps.length, toolStreamed };
}
console.log(JSON.stringify(got));
